import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** When a process began: with its number, this tells it from all others. */
export type Born = string

interface Process {
  readonly parent: number
  readonly group: number
  readonly born: Born
}

/** Those that run at this moment, by number. Dead ones that nobody has asked for yet are not among them. */
export function processes(): Map<number, Process> {
  return process.platform === 'linux' ? fromProc() : fromPs()
}

function fromProc(): Map<number, Process> {
  const all = new Map<number, Process>()
  for (const name of numbered('/proc')) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      // The name of the program stands in brackets and may have any in it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const [state = '', parent, group] = fields
      if ('ZX'.includes(state)) continue
      all.set(Number(name), { parent: Number(parent), group: Number(group), born: fields[19] ?? '' })
    } catch {
      // It has just ended.
    }
  }
  return all
}

function numbered(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function fromPs(): Map<number, Process> {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], {
    encoding: 'utf8',
    timeout: 2_000,
    maxBuffer: 2 ** 24,
  })
  const all = new Map<number, Process>()
  for (const line of (stdout ?? '').split('\n')) {
    const [pid, parent, group, state = 'Z', ...born] = line.trim().split(/\s+/)
    if (state.startsWith('Z')) continue
    all.set(Number(pid), { parent: Number(parent), group: Number(group), born: born.join(' ') })
  }
  return all
}
