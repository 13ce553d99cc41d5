import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

interface Entry {
  readonly pid: number
  readonly parent: number
  /** A letter as `ps` shows it: `T` is stopped, `Z` is dead and not yet collected. */
  readonly state: string
}

/** The process and all below it that live, parents first. */
export function processTree(root: number): number[] {
  const all = living()
  const tree = [root]
  for (const pid of tree) {
    for (const entry of all) if (entry.parent === pid) tree.push(entry.pid)
  }
  return tree
}

/** Those of the processes that are still there, with their state. */
export function survivors(pids: readonly number[]): Entry[] {
  return living().filter(({ pid }) => pids.includes(pid))
}

/** Without the dead ones that a parent has not collected; one that is paused collects none. */
function living(): Entry[] {
  return processTable().filter(({ state }) => !state.startsWith('Z'))
}

function processTable(): Entry[] {
  // Small images have /proc and no `ps`, macOS has it the other way round.
  if (!existsSync('/proc/self/stat')) {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,state='], { encoding: 'utf8' })
      .trim()
      .split('\n')
    return lines.map((line) => {
      const [pid, parent, state = ''] = line.trim().split(/\s+/)
      return { pid: Number(pid), parent: Number(parent), state }
    })
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        // The second field is a name in brackets, and may itself have brackets and blanks.
        const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return [{ pid: Number(name), parent: Number(parent), state }]
      } catch {
        return [] // It ended meanwhile.
      }
    })
}
