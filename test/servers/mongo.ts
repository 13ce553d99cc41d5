/**
 * Real MongoDB servers for tests and benches. Importing this finds the program, or fetches it: no time limit of a
 * test counts that.
 *
 *     const server = await startMongo({ replicaSet: 'rs' })   // without: a standalone server
 *     server.url                    // also host, port, pid
 *     await server.command('admin', { serverStatus: 1 })
 *     await server.restart()        // in order. Same port, same data
 *     await server.pause()          // it stands still; server.resume()
 *     await server.kill()           // SIGKILL; then server.start()
 *     await server.stop()           // and its folder is gone
 *
 * It takes fail points, see mongo-fail-command.ts, and does not outlive this process. A test that only needs a
 * database takes `freshMongoDatabase()` from shared-mongo.ts: that is cheaper. Several nodes: mongo-set.ts.
 */
import type { Document } from 'mongodb'
import { MongoClock } from './mongo-clock.ts'
import { mongoCommand } from './mongo-command.ts'
import { mongoProgram } from './mongo-program.ts'
import { directUrl, mongoArguments, type MongoOptions, mongoUrl, readyMongo } from './mongo-start.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'
import { settled } from './settled.ts'
import { StartedServer } from './started-server.ts'

/** The answer takes its time, too. */
const CLOCK_MARGIN_MS = 500

const program = await mongoProgram()

/** All other defaults are those of MongoDB itself. */
export async function startMongo(options: MongoOptions = {}): Promise<MongoServer> {
  // In order, a primary would first wait for its clients to go elsewhere; the data is thrown away in any case.
  const folder = new ServerFolder('mongo', 'SIGKILL', undefined)
  try {
    const { clockAheadMs } = options
    const clock = clockAheadMs === undefined ? undefined : await MongoClock.open(folder.path, clockAheadMs)
    const [file, ...before] = clock ? clock.command(program) : [program]
    const server: ServerProgram = {
      name: 'MongoDB',
      file,
      account: undefined,
      args: (port) => [...before, ...mongoArguments(port, folder.path, options)],
      listening: () => '"Waiting for connections"',
      probe: (port) => readyMongo(port, options),
    }
    return new MongoServer(await ServerProcess.start(server, folder), folder, options, clock)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

export class MongoServer extends StartedServer {
  /** For a client, with the login of the options. That of a member leads to this one server, whatever its role. */
  readonly url: string
  readonly #clock: MongoClock | undefined
  readonly #direct: string

  constructor(
    process: ServerProcess,
    folder: ServerFolder,
    { replicaSet, member, login }: MongoOptions,
    clock: MongoClock | undefined,
  ) {
    super(process, folder)
    this.#clock = clock
    this.#direct = directUrl(this.port, login)
    const ownSet = replicaSet && !member
    this.url = ownSet ? mongoUrl(this.port, `replicaSet=${replicaSet}`, login) : this.#direct
  }

  /** On a connection of its own, and whatever the role of this server is. */
  async command(database: string, command: Document): Promise<Document> {
    return mongoCommand(this.#direct, database, command)
  }

  /** Resolves when the server has seen it. Only for one that was started with `clockAheadMs`. */
  async stepClock(aheadMs: number): Promise<void> {
    if (!this.#clock) throw new Error('this server was not started with `clockAheadMs`')
    this.#clock.step(aheadMs)
    await settled('the clock', async () => {
      const { localTime } = await this.command('admin', { hello: 1 })
      const seenMs = Number(localTime) - Date.now()
      return Math.abs(seenMs - aheadMs) < CLOCK_MARGIN_MS ? undefined : `it is ${seenMs} ms ahead`
    })
  }
}
