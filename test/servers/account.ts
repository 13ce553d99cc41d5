import { execFileSync } from 'node:child_process'

export interface Account {
  readonly uid: number
  readonly gid: number
}

/**
 * Whom to run a server as: the first of these that there is, or `nobody`. Servers refuse to run as root; whoever
 * is not root runs them as himself.
 */
export function serverAccount(...names: readonly string[]): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of [...names, 'nobody']) {
    try {
      return { uid: idOf('-u', name), gid: idOf('-g', name) }
    } catch {
      // No such account here.
    }
  }
  throw new Error('a server cannot run as root, and there is not even an account "nobody" to run it as')
}

function idOf(flag: string, name: string): number {
  return Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
}
