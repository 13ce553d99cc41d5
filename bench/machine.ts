import { cpus, loadavg, totalmem, type } from 'node:os'

/** What figures were measured on. */
export interface Machine {
  readonly date: string
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
  /** When it began. */
  readonly load: number
}

export function describe(): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: type(),
    node: process.version,
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
  }
}

/** For people, as a list. */
export function listed({ date, processor, cores, memoryGiB, system, node, load }: Machine): string[] {
  return [
    `- Date: ${date}`,
    `- Processor: ${processor}, ${cores} cores`,
    `- Memory: ${memoryGiB} GiB`,
    `- System: ${system}, Node ${node}`,
    `- Load when it began: ${load.toFixed(1)}`,
  ]
}
