import type { Environment, Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import { checkNames, invalid } from '../option-check.ts'
import { signatureOf } from './signature.ts'

/** Where alerts are sent to, as well. */
export interface WebhookOptions {
  /** http or https. */
  readonly url: string
  /** At least 16 characters. The receiver checks `X-Holdfast-Signature` with it. */
  readonly secret: string
}

const MOST_QUEUED = 100
const ATTEMPT_MS = 10_000
const MOST_ATTEMPTS = 8
const PAUSE_MS = 1000
const MOST_PAUSE_MS = 60_000
/** How long `close` waits. */
const FAREWELL_MS = 5000

type Outcome = 'taken' | 'refused' | 'failed'

/** Sends one after the other, in order, and again if it must. Nothing of it ever rejects or throws. */
export class Webhook {
  readonly #url: URL
  readonly #secret: string
  readonly #env: Environment
  readonly #report: (error: LockError) => void
  readonly #queue: string[] = []
  #sending: Promise<void> | null = null
  #isClosing = false
  /** The time to close is over. */
  #isLate = false
  #cut: () => void = () => {}
  #wake: () => void = () => {}
  /** Told once, until it works again. */
  #isReported = false

  constructor(options: WebhookOptions, env: Environment, report: (error: LockError) => void) {
    const { url, secret } = checkWebhook(options)
    this.#url = url
    this.#secret = secret
    this.#env = env
    this.#report = report
  }

  send(payload: object): void {
    this.#queue.push(JSON.stringify(payload))
    if (this.#queue.length > MOST_QUEUED) {
      // Not the first, which may be on its way.
      this.#queue.splice(1, 1)
      this.#complain(`more than ${MOST_QUEUED} alerts wait for it, so the oldest are dropped`)
    }
    this.#sending ??= this.#sendAll()
  }

  /** Each that waits gets one more chance, within a bound. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#wake()
    if (!this.#sending) return
    const late = (): void => {
      this.#isLate = true
      this.#cut()
    }
    const timer = this.#env.setTimer(FAREWELL_MS, late, false)
    await this.#sending
    this.#env.clearTimer(timer)
  }

  async #sendAll(): Promise<void> {
    for (let attempt = 1; this.#queue.length > 0 && !this.#isLate;) {
      const outcome = await this.#post(this.#queue[0]!)
      if (outcome === 'taken') this.#isReported = false
      if (outcome === 'failed' && attempt < MOST_ATTEMPTS && !this.#isClosing) {
        await this.#pause(Math.min(PAUSE_MS * 2 ** (attempt - 1), MOST_PAUSE_MS))
        attempt += 1
        continue
      }
      if (outcome === 'failed') this.#complain('it does not take alerts, and one was dropped')
      this.#queue.shift()
      attempt = 1
    }
    this.#sending = null
  }

  async #post(body: string): Promise<Outcome> {
    const controller = new AbortController()
    this.#cut = () => controller.abort()
    const timer = this.#env.setTimer(ATTEMPT_MS, this.#cut, true)
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'holdfast',
          // Of this attempt: a receiver may refuse what is old.
          'x-holdfast-signature': signatureOf(this.#secret, Math.floor(Date.now() / 1000), body),
        },
        body,
        redirect: 'manual',
        signal: controller.signal,
      })
      await response.body?.cancel().catch(() => {})
      if (response.ok) return 'taken'
      if (response.status === 408 || response.status === 429 || response.status >= 500) return 'failed'
      // To send it again would change nothing.
      this.#complain(`it answered ${response.status}, and the alert was dropped`)
      return 'refused'
    } catch {
      return 'failed'
    } finally {
      this.#env.clearTimer(timer)
    }
  }

  #pause(ms: number): Promise<void> {
    let timer: Timer
    return new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = this.#env.setTimer(ms * (0.5 + this.#env.random() / 2), resolve, true)
    }).then(() => this.#env.clearTimer(timer))
  }

  /** Without the path, which may be a secret. */
  #complain(message: string): void {
    if (this.#isReported) return
    this.#isReported = true
    this.#report(new LockError('INVALID_OPTION', `webhook of alerts at ${this.#url.origin}: ${message}`))
  }
}

/** Neither of them is shown. */
export function checkWebhook(options: WebhookOptions): { url: URL; secret: string } {
  checkNames('watchLocks: webhook', options, ['url', 'secret'])
  const { url, secret } = options
  const parsed = typeof url === 'string' && url.length <= 2000 && URL.canParse(url) ? new URL(url) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '')
    throw invalid('watchLocks: webhook.url: give an http or https URL without a user and a password')
  if (typeof secret !== 'string' || secret.length < 16 || secret.length > 1000)
    throw invalid('watchLocks: webhook.secret: give a text of 16 to 1000 characters')
  return { url: parsed, secret }
}
