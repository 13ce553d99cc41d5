// One worker of the torture: a process of its own that takes locks, works under them and writes down all of it.
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from '../../../src/locks.ts'
import { Random } from '../../simulation/random.ts'
import { openClient, type StoreAddress } from './clients.ts'
import { detour, type Detours } from './detour.ts'
import { EventLoop } from './event-loop.ts'
import { HistoryWriter } from '../history.ts'
import { recorded } from './recorded.ts'
import { ResourceClient } from './resource-client.ts'
import { Tasks, TASKS } from './tasks.ts'

export interface Orders {
  readonly name: string
  readonly seed: number
  readonly folder: string
  readonly resource: string
  readonly detours: Detours
  readonly address: StoreAddress
  /** The mean of what a task waits before it asks again. */
  readonly pauseMs: number
}

export type Command = { readonly do: 'block'; readonly ms: number } | { readonly do: 'stop' }

/** Born into a fault, it may take some; after that it works all the same. */
const OPENINGS = 20

const orders = JSON.parse(process.argv[2] ?? '') as Orders
const { name, seed, folder, pauseMs } = orders
const history = new HistoryWriter(folder, name)
history.note({ is: 'born', pid: process.pid })
process.on('warning', (warning) => history.note({ is: 'note', text: String(warning) }))
// Without the one who started it there is no one to see what it does.
process.on('disconnect', () => stopping || process.exit(1))

let stopping = false
const loop = new EventLoop(history)
detour(orders.detours)
const resource = await ResourceClient.open(orders.resource)
const client = await openClient(orders.address, (text) =>
  history.note({ is: 'note', text: text.slice(0, 200) }),
)
const locks = createLocks(recorded(client.store, history), {
  service: 'torture',
  instance: name,
  logger: null,
})
// Opens the store: what is asked of one that is not open yet never gets as far as the history.
for (let tries = 0; tries < OPENINGS && !(await locks.health()).ok; tries += 1) await sleep(200)
const tasks = new Tasks({ name, locks, resource, history, loop, pauseMs })

process.on('message', (command: Command) => {
  if (command.do === 'block') loop.block(command.ms)
  else if (!stopping) void stop()
})
const running = Array.from({ length: TASKS }, (_, index) => tasks.run(new Random(seed, `${name} ${index}`)))
process.send?.('ready')

async function stop(): Promise<void> {
  stopping = true
  tasks.stop()
  await Promise.all(running)
  history.note({ is: 'closing' })
  await locks.close()
  history.note({ is: 'closed' })
  await client.end?.()
  resource.close()
  // Nothing of ours keeps this process alive now. If something does, the history says what.
  process.disconnect()
  setTimeout(() => {
    const resources = process.getActiveResourcesInfo()
    history.note({ is: 'remains', resources, isOurs: client.end === undefined })
    if (client.leaks && resources.every((each) => each === 'TCPSocketWrap')) process.exit()
  }, 5_000).unref()
}
