import { runSchedule } from './run.ts'
import type { RunResult } from './run.ts'
import type { NetworkPlan, ProcessPlan, Schedule, TaskPlan } from './schedule.ts'

const MAX_RUNS = 1500

/** Leaves out of a failing schedule whatever is not needed for the same guarantee to fail. */
export async function shrink(
  failure: RunResult,
  run: (schedule: Schedule) => Promise<RunResult> = runSchedule,
): Promise<RunResult> {
  let smallest = failure
  let runs = 0
  const guarantee = failure.violation?.guarantee

  const tryAll = async (smaller: Iterable<Schedule>): Promise<boolean> => {
    for (const candidate of smaller) {
      if (runs++ >= MAX_RUNS) return false
      const result = await run(candidate)
      if (result.violation?.guarantee !== guarantee) continue
      smallest = result
      return true
    }
    return false
  }

  // Large cuts first; after each success from the start, since it may allow what failed before.
  while (await tryAll(candidates(smallest.schedule))) {
    // Nothing to do: `tryAll` keeps the smaller schedule.
  }
  return smallest
}

function* candidates(schedule: Schedule): Generator<Schedule> {
  const { tasks, faults, network, processes, server } = schedule
  for (const kept of without(tasks)) yield { ...schedule, tasks: kept }
  for (const kept of without(faults)) yield { ...schedule, faults: kept }
  yield* fewerProcesses(schedule)
  for (const simpler of simplerNetworks(network)) yield { ...schedule, network: simpler }
  for (const [index, process] of processes.entries()) {
    for (const simpler of simplerProcesses(process)) {
      yield { ...schedule, processes: processes.with(index, simpler) }
    }
  }
  if (server.clockRate !== 1) yield { ...schedule, server: { ...server, clockRate: 1 } }
  if (server.push) yield { ...schedule, server: { ...server, push: false } }
  for (const [index, task] of tasks.entries()) {
    for (const simpler of simplerTasks(task)) yield { ...schedule, tasks: tasks.with(index, simpler) }
  }
}

/** The list without a half of it, a quarter, …, one. */
function* without<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < items.length; start += size) {
      yield [...items.slice(0, start), ...items.slice(start + size)]
    }
  }
}

/** Drops the last process if nothing uses it; the numbers of the others stay. */
function* fewerProcesses(schedule: Schedule): Generator<Schedule> {
  const last = schedule.processes.length - 1
  const isUsed =
    schedule.tasks.some((task) => task.process === last) ||
    schedule.faults.some((fault) => 'process' in fault && fault.process === last)
  if (last > 0 && !isUsed) yield { ...schedule, processes: schedule.processes.slice(0, last) }
}

function* simplerNetworks(network: NetworkPlan): Generator<NetworkPlan> {
  for (const [name, value] of Object.entries(network)) {
    if (typeof value === 'number' && value > 0) yield { ...network, [name]: 0 }
  }
  if (network.latencyMs[1] !== 1) yield { ...network, latencyMs: [1, 1] }
}

function* simplerProcesses(process: ProcessPlan): Generator<ProcessPlan> {
  if (process.clockRate !== 1) yield { ...process, clockRate: 1 }
  if (process.clockOffset !== 0) yield { ...process, clockOffset: 0 }
  if (process.stallChance !== 0) yield { ...process, stallChance: 0 }
  if (process.coarseTimers) yield { ...process, coarseTimers: false, timerLatenessMs: 0 }
}

function* simplerTasks(task: TaskPlan): Generator<TaskPlan> {
  for (const body of without(task.body)) yield { ...task, body }
  for (const [index, step] of task.body.entries()) {
    if (step.do !== 'nest') continue
    for (const body of without(step.body)) yield { ...task, body: task.body.with(index, { ...step, body }) }
  }
  for (const name of Object.keys(task.options)) {
    const { [name as 'lease']: _, ...options } = task.options
    yield { ...task, options }
  }
  if (task.giveUpAfter !== undefined) {
    const { giveUpAfter: _, ...patient } = task
    yield patient
  }
}
