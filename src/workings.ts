import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isAnswer, isReleaseAnswer, isRenewalAnswer } from './answers.ts'
import { Batcher, type Step } from './batcher.ts'
import { Compensation } from './compensation.ts'
import { Connection, type StoreLoader } from './connection.ts'
import { Entrance } from './entrance.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import { type ClientName, Events } from './events.ts'
import type { Hold } from './hold.ts'
import { Journal, type Logger } from './monitor/journal.ts'
import { Stats } from './monitor/stats.ts'
import { type Traced, Tracers } from './monitor/tracers.ts'
import type { Tracing } from './monitor/tracing.ts'
import { Pace } from './pace.ts'
import { Records } from './records.ts'
import { Renewals } from './renewals.ts'
import { Schedule } from './schedule.ts'
import type { Settings } from './settings.ts'
import type { Answer, Ask, Claim, Holder, ReleaseAnswer, Renewal, RenewalAnswer, Store } from './store.ts'
import { WaitingRoom } from './waiting-room.ts'

interface WorkingsOptions {
  readonly client: object
  readonly source: Store | StoreLoader
  readonly env: Environment
  readonly logger: Logger
  readonly callTimeoutMs: number
  readonly service: string
  readonly instance: string | undefined
  /** Those in force at the time. */
  readonly settings: () => Settings
}

/** The parts of one client, put together. */
export class Workings {
  readonly events: Events
  readonly journal: Journal
  readonly connection: Connection
  readonly room: WaitingRoom
  readonly entrance: Entrance
  readonly records: Records
  /** Null as long as nobody traces: then it costs one look. */
  tracers: Tracers | null = null
  readonly #identity: Omit<ClientName, 'store'>
  readonly #compensation: Compensation
  readonly #renewals: Renewals
  #traced: readonly Traced[] = []
  readonly #deadlines: Schedule<Hold>

  constructor({ client, source, env, logger, callTimeoutMs, service, instance, settings }: WorkingsOptions) {
    const name = instance ?? `${hostname()}:${process.pid}:${randomBytes(3).toString('hex')}`
    this.#identity = { service, instance: name }
    this.events = new Events(
      () => this.identity,
      (event, cause, isFirst) => this.journal.listenerBroke(event, cause, isFirst),
    )
    this.journal = new Journal(env, new Stats(service), this.events, logger)
    const connection = new Connection(source, env, this.journal, callTimeoutMs)
    this.connection = connection
    const acquires = new Batcher<Ask, Answer>(env, connection, {
      name: 'acquire',
      call: (target, asks) => target.acquire(asks),
      isAnswer,
      late: (ask, answer) => {
        if (answer.granted) this.room.strayGrant(ask)
      },
    })
    const releaseStep: Step<Claim, ReleaseAnswer> = {
      name: 'release',
      call: (target, claims) => target.release(claims),
      isAnswer: isReleaseAnswer,
    }
    const releases = new Batcher<Claim, ReleaseAnswer>(env, connection, releaseStep)
    const renewals = new Batcher<Renewal, RenewalAnswer>(env, connection, {
      name: 'renew',
      call: (target, claims) => target.renew(claims),
      isAnswer: isRenewalAnswer,
    })
    this.#compensation = new Compensation(env, new Batcher(env, connection, releaseStep))
    this.#renewals = new Renewals(env, renewals)
    this.#deadlines = new Schedule<Hold>(env, (holds) => holds.forEach((hold) => hold.expire()))
    const plainHolder: Holder = Object.freeze({ service, instance: name, context: null })
    this.room = new WaitingRoom({
      env,
      journal: this.journal,
      renewals: this.#renewals,
      deadlines: this.#deadlines,
      acquires,
      releases,
      compensation: this.#compensation,
      pace: new Pace(env, settings),
      holder: (context) => (context === null ? plainHolder : { ...plainHolder, context }),
      latencyMs: () => connection.latencyMs,
      openWatch: (onFreed) => connection.watch(onFreed),
    })
    this.entrance = new Entrance({ client, env, journal: this.journal, room: this.room })
    this.records = new Records({ env, connection, journal: this.journal, room: this.room })
  }

  get identity(): ClientName {
    return { store: this.connection.name, ...this.#identity }
  }

  trace(tracing: Tracing): () => void {
    const entry = { tracing }
    this.#setTraced([...this.#traced, entry])
    return () => this.#setTraced(this.#traced.filter((each) => each !== entry))
  }

  /** In this order: what is left at the store is undone while there is a connection. */
  async close(reason: LockError): Promise<void> {
    await this.room.close(reason)
    await this.#compensation.close()
    this.#renewals.close()
    this.#deadlines.close()
    await this.connection.close()
  }

  #setTraced(traced: readonly Traced[]): void {
    this.#traced = traced
    const broken = (cause: unknown): void =>
      this.journal.fault(new LockError('INVALID_OPTION', 'a tracer threw', { cause }))
    this.tracers = traced.length === 0 ? null : new Tracers(traced, broken)
  }
}
