import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Processes that do one thing at a time when they are told to, and answer with one message. */
export class Crew {
  readonly #children: readonly ChildProcess[]

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children
  }

  /**
   * Starts `size` processes of `file` and waits until each has said that it is ready: two at a time, since more
   * would keep each other from opening what they need in time.
   */
  static async gather(size: number, file: URL, args: readonly string[]): Promise<Crew> {
    const children: ChildProcess[] = []
    while (children.length < size) {
      const next = Array.from({ length: Math.min(2, size - children.length) }, () =>
        fork(fileURLToPath(file), args, { execArgv: process.execArgv }),
      )
      await Promise.all(next.map((child) => answerOf(child)))
      children.push(...next)
    }
    return new Crew(children)
  }

  /** What each of them answers. */
  async tell<T>(order: string): Promise<T[]> {
    const answers = Promise.all(this.#children.map((child) => answerOf<T>(child)))
    for (const child of this.#children) child.send(order)
    return answers
  }

  async dismiss(): Promise<void> {
    const gone = this.#children.map((child) => once(child, 'exit'))
    for (const child of this.#children) child.send('end')
    await Promise.all(gone)
  }
}

function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a process ended with ${String(code)}`))
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('exit', ended)
      resolve(answer as T)
    })
  })
}

/** Of a process of the crew: says that it is ready, then does what it is told until it is told to end. */
export function serve(
  orders: Readonly<Record<string, () => Promise<unknown>>>,
  end: () => Promise<unknown>,
): void {
  const obey = async (order: string): Promise<void> => {
    if (order !== 'end') process.send?.((await orders[order]?.()) ?? null)
    else {
      await end()
      process.disconnect()
    }
  }
  process.on('message', (order: string) => void obey(order))
  process.send?.('ready')
}
