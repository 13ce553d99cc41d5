import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Order, Question } from './child.ts'
import { contender, type Name } from './contenders.ts'
import { errorText } from './facts.ts'
import type { Servers } from './servers.ts'
import { ServerStage } from './stage.ts'
import type { Facts, Play, Stage, Trial } from './trial.ts'

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url))
const EXEC_ARGV = [
  '--expose-gc',
  '--disable-warning=ExperimentalWarning',
  '--import',
  import.meta.resolve('tsx'),
]

/** What became of a process that did not come to the end of its play. */
export interface Failure {
  readonly failure: string
}

/** Some runs of the trial by one library: in one process, and in a new one after each that ended. */
export async function play(
  trial: Trial,
  name: Name,
  runs: number,
  servers: Servers,
): Promise<(Play | Failure)[]> {
  const plays: (Play | Failure)[] = []
  let actor: Actor | null = null
  try {
    while (plays.length < runs) {
      actor ??= await Actor.start(trial, name)
      plays.push(await onServers(trial, name, servers, actor))
      if (contender(name).oneRun) await actor.end()
      if (!actor.alive) actor = null
    }
  } finally {
    await actor?.end()
  }
  return plays
}

async function onServers(trial: Trial, name: Name, servers: Servers, actor: Actor): Promise<Play | Failure> {
  const kind = trial.kind ?? contender(name).kind
  const borrowed = await Promise.all(Array.from({ length: trial.servers ?? 1 }, () => servers.borrow(kind)))
  const stages = await Promise.all(borrowed.map((each) => ServerStage.open(each, trial.proxied ?? false)))
  const [stage] = stages
  if (!stage) throw new Error('a trial needs a server')
  const url = stages.map(({ proxiedUrl }) => proxiedUrl).join(',')
  const besideUrl = stages.map((each) => each.url).join(',')
  try {
    return await actor.play({ url, besideUrl }, stage)
  } finally {
    for (const each of stages) await each.clear()
    for (const each of borrowed) servers.giveBack(each)
  }
}

/** A process that plays. */
class Actor {
  readonly #child: ChildProcess
  readonly #trial: Trial
  #printed = ''

  private constructor(trial: Trial, name: Name) {
    this.#trial = trial
    this.#child = fork(CHILD, [trial.id, name], {
      execArgv: EXEC_ARGV,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on(
        'data',
        (chunk: Buffer) => (this.#printed = (this.#printed + chunk.toString()).slice(-20_000)),
      )
  }

  static async start(trial: Trial, name: Name): Promise<Actor> {
    const actor = new Actor(trial, name)
    await once(actor.#child, 'message')
    return actor
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves when the play is over; of a trial that lingers, when the process has ended. */
  play(order: Order, stage: Stage): Promise<Play | Failure> {
    const child = this.#child
    const { limitMs, lingers } = this.#trial
    return new Promise((resolve) => {
      let facts: Facts | undefined
      let at = 0
      let late = false
      const limit = setTimeout(() => {
        late = true
        child.kill('SIGKILL')
      }, limitMs)
      const conclude = (result: Play | Failure): void => {
        clearTimeout(limit)
        child.off('message', hear).off('close', ended)
        resolve(result)
      }
      const hear = (message: Question | { facts: Facts }): void => {
        if (!('facts' in message)) return void answer(child, stage, message)
        facts = message.facts
        at = performance.now()
        if (!lingers) conclude({ facts, lingeredMs: 0 })
      }
      const ended = (code: number | null): void => {
        if (facts) conclude({ facts, lingeredMs: late ? Infinity : performance.now() - at })
        else if (late) conclude({ failure: `no end within ${limitMs / 1000} s` })
        else conclude({ failure: `process ends, exit code ${code}: ${lastWords(this.#printed)}` })
      }
      child.on('message', hear).on('close', ended)
      child.send(order)
    })
  }

  async end(): Promise<void> {
    if (!this.alive) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

async function answer(child: ChildProcess, stage: Stage, { id, method, args }: Question): Promise<void> {
  const call = stage[method] as (...given: readonly unknown[]) => Promise<unknown>
  const reply: Answer = await call.apply(stage, [...args]).then(
    (value) => ({ id, value }),
    (error: unknown) => ({ id, error: errorText(error) }),
  )
  if (child.connected) child.send(reply, () => {})
}

/** The line that says which error it was. */
function lastWords(printed: string): string {
  const lines = printed.split('\n').map((line) => line.trim())
  const line =
    lines.find((each) => /^(Uncaught )?\w*error\b.*: /i.test(each)) ?? lines.findLast(Boolean) ?? ''
  return line.replace(/^Uncaught /, '').slice(0, 120)
}
