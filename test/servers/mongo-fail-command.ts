/**
 * Has commands fail at a server, on its side:
 *
 *     const fail = await failCommand(server, { commands: ['update'], mode: { times: 2 }, errorCode: 10107 })
 *     …
 *     await fail.off()     // how often it happened
 *
 * A command with a `writeConcernError` is carried out; one with an `errorCode` or `closeConnection` is not. For a command
 * that is carried out and whose reply is lost, see tcp-proxy.ts. There is one such fault at a server at a time.
 */
import type { Document } from 'mongodb'
import type { MongoServer } from './mongo.ts'

export interface CommandFault {
  readonly commands: readonly string[]
  /** Until it is off, if not given. */
  readonly mode?: 'alwaysOn' | { readonly times: number } | { readonly skip: number }
  readonly errorCode?: number
  /** Labels that the server would not give by itself. */
  readonly errorLabels?: readonly string[]
  readonly writeConcernError?: Document
  readonly closeConnection?: boolean
  /** First the command waits that long; alone, it then goes on. `off` waits as well. */
  readonly blockTimeMS?: number
  /** Only for clients of that name. */
  readonly appName?: string
  /** Only for that collection: `database.collection`. */
  readonly namespace?: string
}

export interface FailCommand {
  /** Resolves to how many commands it has hit, once none of them is still blocked. */
  off(): Promise<number>
}

export async function failCommand(server: MongoServer, fault: CommandFault): Promise<FailCommand> {
  const { commands, mode = 'alwaysOn', ...rest } = fault
  const blockConnection = fault.blockTimeMS !== undefined
  const data = { failCommands: commands, ...rest, ...(blockConnection ? { blockConnection } : {}) }
  const before = await configure(server, { mode, data })
  return { off: async () => (await configure(server, { mode: 'off' })) - before }
}

/** Resolves to how many commands were ever hit at this server. */
async function configure(server: MongoServer, how: Document): Promise<number> {
  const reply = await server.command('admin', { configureFailPoint: 'failCommand', ...how })
  return Number(reply['count'])
}
