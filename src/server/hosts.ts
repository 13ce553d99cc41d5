import { isIP } from 'node:net'

/** A host name as a URL has it, with a port or without. */
export interface HostName {
  /** With the port, if it is not the usual one. */
  readonly host: string
  readonly hostname: string
}

/** Null if it is none. */
export function parseHost(text: string, protocol: string = 'http:'): HostName | null {
  // A URL would also take a name and a password, a path, and much else.
  if (!/^[\w.:[\]-]{1,260}$/.test(text)) return null
  try {
    const { host, hostname } = new URL(`${protocol}//${text}`)
    return { host, hostname }
  } catch {
    return null
  }
}

/** Of this machine alone; no other name resolves to it without the machine's own doing. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
}

export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '')
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}

/** A number, which no name server can turn into another. */
export function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0
}

interface Runtime {
  /** Where programs put what the runtime passed, next to bindings of their own; Hono looks there first, too. */
  readonly server?: Runtime
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
  readonly remoteAddr?: { readonly hostname?: string }
  readonly requestIP?: (request: Request) => { readonly address: string } | null
}

/** Where the request comes from, if the runtime tells: Node by @hono/node-server, Deno, Bun. */
export function peerOf(request: Request, env: unknown): string | null {
  try {
    const given = (env ?? {}) as Runtime
    const runtime = given.server ?? given
    const told: unknown =
      runtime.incoming?.socket?.remoteAddress ??
      runtime.remoteAddr?.hostname ??
      runtime.requestIP?.(request)?.address
    return typeof told === 'string' ? told : null
  } catch {
    return null
  }
}
