import type { Fact } from './facts.ts'
import type { Scene } from './scene.ts'
import { keyName } from './schedule.ts'
import type { FaultPlan } from './schedule.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** Puts the faults of a schedule into the world. */
export function planFaults(
  scene: Scene,
  note: (fact: Fact) => void,
  close: (process: SimulatedProcess) => void,
): void {
  const { world, schedule, processes } = scene
  for (const fault of schedule.faults) {
    // Closing and forcing are done by code of the process, which can be held up; the rest befalls it.
    const actor = fault.do === 'close' || fault.do === 'evict' ? (processes[fault.process] ?? null) : null
    world.at(fault.at, actor, () => {
      note({ is: 'fault', what: JSON.stringify(fault) })
      strike(scene, fault, close)
    })
  }
}

function strike(scene: Scene, fault: FaultPlan, close: (process: SimulatedProcess) => void): void {
  const { world, network, processes, locks } = scene
  const { server } = network
  const after = (ms: number, run: () => void): void => void world.at(world.time + ms, null, run)
  const process = 'process' in fault ? processes[fault.process] : undefined
  if ('process' in fault && !process) return
  switch (fault.do) {
    case 'pause':
      process?.pauseFor(fault.ms)
      break
    case 'crash':
      if (process) process.crashed = true
      server.subscriptions.delete(fault.process)
      break
    case 'close':
      if (process) close(process)
      break
    case 'cut':
      network.cut(fault.process, fault.way)
      after(fault.ms, () => network.mend(fault.process))
      break
    case 'freeze':
      server.freeze()
      after(fault.ms, () => server.thaw())
      break
    case 'slow':
      server.latencyFactor = fault.factor
      after(fault.ms, () => (server.latencyFactor = 1))
      break
    case 'down':
      server.stop()
      network.breakConnections(false)
      after(fault.ms, () => server.start())
      break
    case 'restart':
      network.breakConnections(fault.silent)
      break
    case 'forget':
      server.store.forget()
      break
    case 'evict':
      // It may fail like any call; that is not the point here.
      locks[fault.process]?.forceRelease(keyName(fault.key)).catch(() => {})
      break
  }
}
