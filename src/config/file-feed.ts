import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Environment, Timer } from '../environment.ts'
import type { LockError } from '../errors.ts'
import type { Feed, News } from './feed.ts'
import { parserOf } from './parse.ts'
import { readText } from './text.ts'

/** Two looks that far apart must see the same, or someone is still writing. */
const SETTLE_MS = 100
/** A file that is gone or empty may be on its way to be replaced. */
const GRACE_MS = 2000
/** For what no watch tells of: network drives, links into other folders, a folder that was replaced. */
const POLL_MS = 5000

type Look = { readonly text: string } | { readonly error: LockError }

/**
 * A file, looked at again when something happens in its folder. The folder and not the file: editors and Kubernetes put
 * another file, or another link, in its place.
 */
export class FileFeed implements Feed {
  readonly name: string
  readonly #path: string
  readonly #env: Environment
  readonly #parse: (text: string) => Promise<unknown>
  /** What was told last. */
  #told = ''
  /** What was seen last, if that is something else, and since when. */
  #seen: { readonly mark: string; readonly since: number } | null = null
  #tell: ((news: News) => Promise<void>) | null = null
  #watcher: FSWatcher | null = null
  #timer: Timer = null
  #dueAt = Infinity
  #looking = false
  /** Something has happened while it was looking. */
  #missed = false

  /** `path` is absolute. */
  constructor(path: string, env: Environment) {
    this.name = path
    this.#path = path
    this.#env = env
    this.#parse = parserOf(path)
  }

  async first(): Promise<unknown> {
    const text = await readText(this.#path)
    this.#told = markOf({ text })
    return this.#parse(text)
  }

  follow(tell: (news: News) => Promise<void>): void {
    this.#tell = tell
    this.#watch()
    // It may have changed before the watch was there.
    this.#lookIn(0)
  }

  async close(): Promise<void> {
    this.#tell = null
    this.#watcher?.close()
    this.#watcher = null
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
  }

  #watch(): void {
    const name = basename(this.#path)
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false }, (_, changed) => {
        // `..data` is the link that Kubernetes exchanges.
        if (changed === null || changed === name || changed.startsWith('..')) this.#lookIn(SETTLE_MS)
      })
      // Without it, the poll is what is left.
      this.#watcher.on('error', () => {
        this.#watcher?.close()
        this.#watcher = null
      })
    } catch {
      this.#watcher = null
    }
  }

  #lookIn(ms: number): void {
    const at = this.#env.now() + ms
    if (this.#tell === null || at >= this.#dueAt) return
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#dueAt = at
    this.#timer = this.#env.setTimer(ms, () => void this.#look(), true)
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    this.#timer = null
    this.#dueAt = Infinity
    if (this.#looking) {
      this.#missed = true
      return
    }
    this.#looking = true
    this.#missed = false
    const look = await this.#read()
    const again = await this.#consider(look)
    this.#looking = false
    if (this.#watcher === null && this.#tell !== null) this.#watch()
    this.#lookIn(this.#missed ? SETTLE_MS : again)
  }

  async #read(): Promise<Look> {
    try {
      return { text: await readText(this.#path) }
    } catch (error) {
      return { error: error as LockError }
    }
  }

  /** How long until the next look. */
  async #consider(look: Look): Promise<number> {
    const mark = markOf(look)
    const now = this.#env.now()
    if (mark === this.#told) {
      this.#seen = null
      return POLL_MS
    }
    if (this.#seen?.mark !== mark) this.#seen = { mark, since: now }
    const patience = 'error' in look || look.text.trim() === '' ? GRACE_MS : SETTLE_MS
    if (now - this.#seen.since < patience) return SETTLE_MS
    this.#seen = null
    this.#told = mark
    await this.#tell?.(await this.#newsOf(look))
    return POLL_MS
  }

  async #newsOf(look: Look): Promise<News> {
    if ('error' in look) return look
    try {
      return { value: await this.#parse(look.text) }
    } catch (error) {
      return { error: error as LockError }
    }
  }
}

function markOf(look: Look): string {
  return 'text' in look ? `text ${look.text}` : `error ${look.error.message}`
}
