import { Redis } from 'ioredis'

const CONNECT_LIMIT_MS = 5_000
const COMMAND_LIMIT_MS = 20_000

/** Sends one command on a connection of its own, also to a sentinel or to one node of a cluster. */
export async function redisCommand(
  url: string,
  name: string,
  ...args: readonly (string | number)[]
): Promise<unknown> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_LIMIT_MS,
    commandTimeout: COMMAND_LIMIT_MS,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: null,
  })
  let fault: unknown
  client.on('error', (error) => (fault = error))
  try {
    await client.connect()
    return await client.call(name, ...args)
  } catch (error) {
    // The client itself only says that the connection is closed.
    throw fault ?? error
  } finally {
    client.disconnect()
  }
}
