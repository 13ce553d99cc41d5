/** A configuration in a key of etcd, over its JSON gateway: no driver is needed. */
import type { ConfigSource } from '../../src/config/index.ts'

export interface EtcdKey {
  /** Such as http://localhost:2379. */
  readonly url: string
  readonly key: string
}

interface Entry {
  readonly value: string
  readonly mod_revision: string
}

/**
 * A watch ends by itself after this and starts anew, quietly: a connection that was cut without a word would wait for
 * ever, and `fetch` gives up on a silent one after 5 minutes.
 */
const WATCH_MS = 240_000

/** Any failure ends the generator with an error; holdfast reports it, and calls for a new one after a pause. */
export function etcdSource({ url, key }: EtcdKey): ConfigSource {
  const name = base64(key)
  return async function* (signal) {
    let seen = ''
    for (;;) {
      const limit = AbortSignal.timeout(WATCH_MS)
      const ask = asking(url, AbortSignal.any([signal, limit]))
      const range = (await (await ask('kv/range', { key: name })).json()) as Range
      const entry = range.kvs?.[0]
      if (!entry) throw new Error(`etcd has no key ${key}`)
      if (entry.mod_revision !== seen) yield valueOf(entry)
      seen = entry.mod_revision
      // From right after what was read, so that nothing is missed in between.
      const start_revision = String(BigInt(range.header.revision) + 1n)
      try {
        const watch = await ask('watch', { create_request: { key: name, start_revision } })
        for await (const line of linesOf(watch)) {
          const { result, error } = JSON.parse(line) as Message
          // Also if what is to be read from was compacted away: the next one starts with what there is.
          if (error || !result || result.canceled) throw new Error('etcd has refused the watch')
          for (const { type, kv } of result.events ?? []) {
            // One that is deleted stays in force.
            if (type === 'DELETE') continue
            yield valueOf(kv)
            seen = kv.mod_revision
          }
        }
        throw new Error('etcd has ended the watch')
      } catch (error) {
        if (!limit.aborted) throw error
      }
    }
  }
}

interface Range {
  readonly header: { readonly revision: string }
  readonly kvs?: readonly Entry[]
}

interface Message {
  readonly error?: unknown
  readonly result?: {
    readonly canceled?: boolean
    readonly events?: readonly { readonly type?: 'DELETE'; readonly kv: Entry }[]
  }
}

/** What is no JSON is given on as it is: holdfast refuses it, reports it, and goes on with the last valid one. */
function valueOf({ value }: Entry): unknown {
  const text = Buffer.from(value, 'base64').toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function asking(url: string, signal: AbortSignal): (path: string, body: object) => Promise<Response> {
  return async (path, body) => {
    const response = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body), signal })
    if (!response.ok) throw new Error(`etcd answers ${path} with ${response.status}`)
    return response
  }
}

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
