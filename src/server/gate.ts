import { createHash, timingSafeEqual } from 'node:crypto'
import type { Environment } from '../environment.ts'
import { isAddress, isLoopbackAddress, isLoopbackName, parseHost, peerOf } from './hosts.ts'
import type { ServerTerms } from './options.ts'
import { Problem } from './problem.ts'

/** `anyone`: says next to nothing. `page`: the files of the dashboard. `read` and `write`: what is in the store. */
export type Access = 'anyone' | 'page' | 'read' | 'write'

export interface Visitor {
  /** The name of the token that was shown. */
  readonly who: string | null
  /** Its address, where the runtime tells. */
  readonly peer: string | null
  readonly mayRelease: boolean
}

/** Wrong tokens that are answered at once, and how many more in a second. A right one is always let in. */
const ATTEMPTS = 20
const ATTEMPTS_PER_SECOND = 2

/** A proxy on this machine says so by one of these, as most do: whoever is behind it is not on this machine. */
const FORWARDED = /^(forwarded|via|x-forwarded-.+|x-real-ip|(.+-)?client-ip|cf-connecting-ip)$/

const FOREIGN = /^(cross|same)-site$/

/** Who may come in. */
export class Gate {
  readonly #terms: ServerTerms
  readonly #digests: readonly (readonly [who: string, digest: Buffer])[]
  readonly #attempts: Attempts

  constructor(terms: ServerTerms) {
    this.#terms = terms
    this.#digests = [...terms.tokens].map(([who, token]) => [who, digestOf(token)])
    this.#attempts = new Attempts(terms.env)
  }

  /** Throws the Problem that keeps it out. */
  admit(request: Request, url: URL, env: unknown, access: Access): Visitor {
    const peer = peerOf(request, env)
    // Probes ask by address, from other machines; what they are told helps nobody else.
    if (access === 'anyone') return { who: null, peer, mayRelease: false }
    this.#checkHost(request, url, peer)
    this.#checkOrigin(request, url, access)
    if (access === 'page') return { who: null, peer, mayRelease: false }
    const who = this.#digests.length === 0 ? null : this.#whoHas(request)
    const mayRelease = who !== null && !this.#terms.readOnly
    if (access === 'write' && !mayRelease) throw this.#notToBeFreed()
    return { who, peer, mayRelease }
  }

  /** A name that an attacker lets point to this machine is still the attacker's name. */
  #checkHost(request: Request, url: URL, peer: string | null): void {
    for (const text of [url.host, request.headers.get('host') ?? url.host]) {
      const name = parseHost(text)
      if (!name) throw new Problem('INVALID_REQUEST', 'the Host header is wrong')
      if (isLoopbackName(name.hostname)) continue
      if (this.#terms.hosts.has(name.host) || this.#terms.hosts.has(name.hostname)) continue
      if (this.#digests.length > 0 && isAddress(name.hostname)) continue
      throw new Problem('FORBIDDEN', 'it is not served under this name; add it to `hosts`')
    }
    const isElsewhere = peer !== null && !isLoopbackAddress(peer)
    if (
      this.#digests.length === 0 &&
      (isElsewhere || [...request.headers.keys()].some((name) => FORWARDED.test(name)))
    )
      throw new Problem('FORBIDDEN', 'without a token only this machine is answered')
  }

  /** Pages of others may send requests, but not under our own Origin. Scripts that free keys have to name it. */
  #checkOrigin(request: Request, url: URL, access: Access): void {
    const origin = request.headers.get('origin')
    // An image of another page has no Origin. It could not be read there, but it would cost the store something.
    const isOfOther = access === 'read' && FOREIGN.test(request.headers.get('sec-fetch-site') ?? '')
    if (origin === null && access !== 'write' && !isOfOther) return
    if (origin !== null && isOwn(origin, request.headers.get('host') ?? url.host)) return
    throw new Problem('FORBIDDEN', 'the Origin header has to name the address that is asked')
  }

  #whoHas(request: Request): string {
    const shown = request.headers.get('authorization')
    const [, token] = /^Bearer +([\x21-\x7e]+)$/i.exec(shown ?? '') ?? []
    const digest = token === undefined ? null : digestOf(token)
    let who: string | null = null
    // All of them, so that the time does not tell which one was nearly right.
    for (const [name, own] of this.#digests) if (digest && timingSafeEqual(digest, own)) who = name
    if (who !== null) return who
    if (shown !== null && !this.#attempts.take())
      throw new Problem('TOO_MANY_ATTEMPTS', 'too many wrong tokens', { 'retry-after': '1' })
    throw new Problem(
      'UNAUTHORIZED',
      shown === null ? 'show the token: Authorization: Bearer …' : 'the token is wrong',
      { 'www-authenticate': 'Bearer realm="holdfast"' },
    )
  }

  #notToBeFreed(): Problem {
    const detail = this.#terms.readOnly
      ? 'this server only shows; free the key with holdfast release'
      : 'without a token nothing can be freed; give the server one'
    return new Problem('READ_ONLY', detail)
  }
}

/** A bucket that fills up again. One for all: behind a proxy every caller has the same address. */
class Attempts {
  readonly #env: Environment
  #left = ATTEMPTS
  #at: number

  constructor(env: Environment) {
    this.#env = env
    this.#at = env.now()
  }

  take(): boolean {
    const now = this.#env.now()
    this.#left = Math.min(ATTEMPTS, this.#left + ((now - this.#at) * ATTEMPTS_PER_SECOND) / 1000)
    this.#at = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function isOwn(origin: string, host: string): boolean {
  try {
    const url = new URL(origin)
    // By the scheme of the page: a proxy may have taken the TLS away, and each has its usual port.
    return /^https?:$/.test(url.protocol) && parseHost(host, url.protocol)?.host === url.host
  } catch {
    return false
  }
}
