import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MongoServerError } from 'mongodb'
import { mongoCommand } from './mongo-command.ts'

export interface MongoOptions {
  /** The name of the set that this server is the only member of. */
  readonly replicaSet?: false | string
  /** It waits for someone else to make a set of it and others. */
  readonly member?: boolean
  readonly setParameter?: Readonly<Record<string, string | number | boolean>>
  /** More of the command line. */
  readonly args?: readonly string[]
  /** Who may do everything; without it, no one may do anything then. Not for a `member`. */
  readonly login?: MongoLogin
  /** It has a clock of its own, that `stepClock` can step. */
  readonly clockAheadMs?: number
}

export interface MongoLogin {
  readonly user: string
  readonly password: string
}

export const HOST = '127.0.0.1'

const JOURNAL = 'enabled=true,remove=true,path=journal,compressor=snappy,prealloc=false,file_max=8MB'
const NO_SUCH_LOGIN = 18

export function mongoUrl(port: number, search: string, login?: MongoLogin): string {
  const who = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : ''
  return `mongodb://${who}${HOST}:${port}/?${search}`
}

export function directUrl(port: number, login?: MongoLogin): string {
  return mongoUrl(port, 'directConnection=true', login)
}

export function mongoArguments(port: number, folder: string, options: MongoOptions): string[] {
  const { replicaSet, setParameter, args = [], login } = options
  const parameters = {
    // Fail points, and that nodes say who they are.
    enableTestCommands: true,
    diagnosticDataCollectionEnabled: false,
    // Else a primary that ends in order waits 15 s first.
    shutdownTimeoutMillisForSignaledShutdown: 0,
    ...setParameter,
  }
  return [
    ...['--port', String(port), '--bind_ip', HOST, '--nounixsocket', '--dbpath', folder],
    ...['--wiredTigerCacheSizeGB', '0.25'],
    // Else 300 MB are written for the journal at the first start.
    ...['--wiredTigerEngineConfigString', `log=(${JOURNAL})`],
    ...(replicaSet ? ['--replSet', replicaSet, '--oplogSize', '64'] : []),
    ...(login ? ['--auth'] : []),
    ...(login && replicaSet ? ['--keyFile', keyFile(folder)] : []),
    ...Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]),
    ...args,
  ]
}

/** Rejects until the server can be used. The first time, makes a set of it and lets someone in. */
export async function readyMongo(port: number, options: MongoOptions): Promise<void> {
  const { replicaSet, member, login } = options
  const hello = await mongoCommand(directUrl(port), 'admin', { hello: 1 })
  if (member) return
  if (hello['isreplicaset'] === true) {
    const members = [{ _id: 0, host: `${HOST}:${port}` }]
    await mongoCommand(directUrl(port), 'admin', { replSetInitiate: { _id: replicaSet, members } })
  }
  if (hello['isWritablePrimary'] !== true) throw new Error('it is not the primary yet')
  if (login) await letIn(port, login)
}

/** A server in a set wants one, if it has logins: with it, the nodes know each other. */
function keyFile(folder: string): string {
  const file = join(folder, 'key')
  writeFileSync(file, 'holdfast', { mode: 0o600 })
  return file
}

async function letIn(port: number, login: MongoLogin): Promise<void> {
  try {
    await mongoCommand(directUrl(port, login), 'admin', { ping: 1 })
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NO_SUCH_LOGIN) throw error
    // The first login may be made by anyone on this machine. The second role is for fail points.
    const roles = ['root', '__system']
    await mongoCommand(directUrl(port), 'admin', { createUser: login.user, pwd: login.password, roles })
  }
}
