import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { ServerKind } from './open-server.ts'
import type { SharedServerReply } from './shared.setup.ts'

/** The URL of the one server of this kind that all test files of the project share. */
export async function sharedServer(kind: ServerKind): Promise<string> {
  const socket = connect(inject('serversPort'), '127.0.0.1')
  socket.end(kind)
  const { url, error } = JSON.parse(await text(socket)) as SharedServerReply
  if (url === undefined) throw new Error(error)
  return url
}
