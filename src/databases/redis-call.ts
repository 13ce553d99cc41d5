import { randomBytes } from 'node:crypto'

const origin = randomBytes(6).toString('base64url')
let calls = 0

/** What a script is given with its arguments, and returns before its answer: `{ call, answer }`. */
export function newCall(): string {
  calls += 1
  return `${origin}${calls.toString(36)}`
}

/**
 * A client may lose count of its replies when a connection breaks, and give each call that of another from then on. The
 * 1 of a release would be taken for a grant, and two would hold a key.
 */
export function replyTo(call: string, reply: unknown): unknown {
  const [of, answer] = Array.isArray(reply) ? (reply as readonly unknown[]) : []
  // A client may be set to give texts as bytes.
  if (String(of) === call) return answer
  throw new Error(
    'the client gave a call the reply of another one: it has lost count; make a new ' +
      'client, one of node-redis with disableOfflineQueue: true',
  )
}
