import { has } from './methods.ts'

/** A document, or a command, as it goes over the wire. */
export type MongoDocument = Record<string, unknown>

/** The part of a session of the `mongodb` driver that holdfast needs. */
export interface MongoSession {
  withTransaction<T>(work: () => Promise<T>, options?: object): Promise<T>
  inTransaction(): boolean
  endSession(options?: object): Promise<unknown>
}

export interface MongoChangeStream {
  readonly closed: boolean
  /** The next event; null if none came for as long as the server waits. Rejects when it cannot go on, or was closed. */
  tryNext(): Promise<unknown>
  close(): Promise<unknown>
  on(event: 'resumeTokenChanged', listener: () => void): unknown
}

export interface MongoCollection {
  watch(pipeline?: MongoDocument[], options?: object): MongoChangeStream
}

/** The part of a `Db` of the `mongodb` driver, 6 or 7, that holdfast needs. */
export interface MongoDb {
  readonly databaseName: string
  readonly client: MongoClient
  command(command: MongoDocument, options?: object): Promise<MongoDocument>
  collection(name: string): MongoCollection
}

/** The part of a `MongoClient` of the `mongodb` driver, 6 or 7, that holdfast needs. */
export interface MongoClient {
  /** Without a name: the database of the connection string, else `test`. */
  db(name?: string): MongoDb
  startSession(options?: object): MongoSession
}

export function isMongoDb(value: unknown): value is MongoDb {
  return (
    has(value, 'command', 'collection') && typeof Reflect.get(value as object, 'databaseName') === 'string'
  )
}

export function isMongoClient(value: unknown): value is MongoClient {
  return has(value, 'db', 'startSession')
}

export function isMongoSession(value: unknown): value is MongoSession {
  return has(value, 'withTransaction', 'inTransaction', 'endSession')
}
