import type { ServiceName, Setup } from './messages.ts'
import { Instance } from './instance.ts'
import type { Keeping } from './stock-room.ts'

const SERVICES: readonly ServiceName[] = ['business', 'storage']

/** Both services, so many processes of each. One that is gone is replaced by a new one with another name. */
export class Fleet {
  readonly #setup: Setup
  readonly #started: Record<ServiceName, number> = { business: 0, storage: 0 }
  #keeping: Keeping
  instances: Instance[] = []

  constructor(setup: Setup) {
    this.#setup = setup
    this.#keeping = setup.keeping
  }

  get keeping(): Keeping {
    return this.#keeping
  }

  /** Those that take requests, though one of them may be paused. */
  get serving(): readonly Instance[] {
    return this.instances.filter(({ alive, url }) => alive && url !== null)
  }

  /** Where a load balancer that asks for health would send requests: else all clients would soon wait for one that stands still. */
  get healthy(): readonly Instance[] {
    return this.serving.filter(({ paused }) => !paused)
  }

  async start(ofEach: number): Promise<void> {
    const started = SERVICES.flatMap((service) => Array.from({ length: ofEach }, () => this.add(service)))
    await Promise.all(started.map(({ ready }) => ready))
  }

  add(service: ServiceName): Instance {
    this.#started[service] += 1
    const instance = new Instance(service, `${service}-${this.#started[service]}`, {
      ...this.#setup,
      keeping: this.#keeping,
    })
    this.instances.push(instance)
    return instance
  }

  /** For requests that begin from now on. */
  keep(keeping: Keeping): void {
    this.#keeping = keeping
    for (const instance of this.serving) instance.tell({ do: 'keep', keeping })
  }

  /** SIGKILL, as a machine that is gone; another one takes its place. */
  async replace(victim: Instance): Promise<Instance> {
    await victim.kill()
    this.instances = this.instances.filter((instance) => instance !== victim)
    const successor = this.add(victim.service)
    await successor.ready
    return successor
  }

  async stop(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.stop()))
  }
}
