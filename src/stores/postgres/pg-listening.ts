import type { PgClient } from '../../databases/pg.ts'
import type { Ears, Listening } from './database.ts'
import { within } from './limit.ts'
import { listeningOnce } from './listening.ts'

/** A connection of our own: not yet open, and ours to end. */
export interface OwnPgClient extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<unknown>
  unref?(): void
  readonly connection?: { readonly stream?: { destroy?(): void } }
  /** As the server, or a pooler before it, has told. */
  readonly processID?: number | null
}

/**
 * Listens on a connection of its own. Null behind a pooler: unless it lends connections for whole sessions, the
 * LISTEN would stay on a connection that somebody else uses next. A pooler gives itself away by telling another
 * process id than the server does.
 */
export function listenOn(client: OwnPgClient, channel: string, ears: Ears): Promise<Listening | null> {
  const lost = (): void => ears.lost()
  client.on('error', lost)
  client.on('end', lost)
  client.on('notification', (message: { payload?: string }) => ears.heard(message.payload ?? ''))
  const close = async (): Promise<void> => {
    // Its 'error' listener stays: the socket may still have something to say.
    await within(client.end(), () => 'the listening connection does not end').catch(() => {
      // It only says farewell, and then waits for the server to hang up.
      client.connection?.stream?.destroy?.()
    })
  }
  return listeningOnce(start(client, channel), close)
}

async function start(client: OwnPgClient, channel: string): Promise<boolean> {
  await client.connect()
  // Nobody should be kept from exiting by a connection that only hears of others.
  client.unref?.()
  const { rows } = await client.query({ text: 'select pg_backend_pid()::text', rowMode: 'array' })
  if (client.processID && String((rows[0] as unknown[])[0]) !== String(client.processID)) return false
  await client.query({ text: `listen "${channel}"` })
  return true
}
