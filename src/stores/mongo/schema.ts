import type { MongoDocument } from '../../databases/mongo.ts'
import type { Command } from './database.ts'
import { codeOf, unusable } from './failures.ts'

/** 4.4: pipelines in updates, with a hint, and expressions in projections. */
const OLDEST_WIRE_VERSION = 9
const INDEX = 'holdfast_keep'
const NO_COLLECTION = 26
/** There is an index of that name, or on that field, with other options. */
const OTHER_INDEX = new Set([85, 86])

export interface Names {
  readonly database: string
  readonly collection: string
}

export function namespaceOf({ database, collection }: Names): string {
  return `${database}.${collection}`
}

/** Collection and index. Rights to create are needed only if there is something to create. */
export async function prepare(command: Command, names: Names, keepSeconds: number): Promise<void> {
  const { maxWireVersion } = await command({ hello: 1 })
  if (Number(maxWireVersion) < OLDEST_WIRE_VERSION) {
    throw unusable(namespaceOf(names), 'the server is too old; it must be MongoDB 4.4 or later')
  }
  const problem = problemOf(await collectionOf(command, names))
  if (problem) throw unusable(namespaceOf(names), `${problem}; name another collection`)
  await ensureIndex(command, names, keepSeconds)
}

/** Creates the index if it is not there. Many processes may do so at once. */
export async function ensureIndex(command: Command, names: Names, keepSeconds: number): Promise<void> {
  const found = await indexesOf(command, names)
  for (const index of found) checkForeign(index, names)
  const ours = found.find(({ key }) => isOn(key, 'idleFrom'))
  if (ours) return checkIndex(ours, names, keepSeconds)
  const index = { name: INDEX, key: { idleFrom: 1 }, expireAfterSeconds: keepSeconds }
  const { setName } = await command({ hello: 1 })
  // Else it would wait for nodes that are down, if there are records. A server alone does not know the word.
  const quorum = setName === undefined ? {} : { commitQuorum: 'majority' }
  try {
    await command({ createIndexes: names.collection, indexes: [index], ...quorum })
  } catch (error) {
    // Someone was first, and wants something else.
    if (!OTHER_INDEX.has(codeOf(error))) throw error
    const [first] = (await indexesOf(command, names)).filter(({ key }) => isOn(key, 'idleFrom'))
    if (!first) throw error
    checkIndex(first, names, keepSeconds)
  }
}

/** Somebody else's index may remove records, or refuse them. */
function checkForeign({ key, name, expireAfterSeconds, unique }: MongoDocument, names: Names): void {
  const removes = expireAfterSeconds !== undefined && !isOn(key, 'idleFrom')
  if (!removes && unique !== true) return
  const what = removes ? 'removes records' : 'is unique'
  throw unusable(
    namespaceOf(names),
    `its index '${String(name)}' ${what}, and is not of holdfast; drop it: ${dropping(names, name)}`,
  )
}

function dropping({ collection }: Names, index: unknown): string {
  return `db.getCollection('${collection}').dropIndex('${String(index)}')`
}

function checkIndex(index: MongoDocument, names: Names, keepSeconds: number): void {
  const { expireAfterSeconds: found, partialFilterExpression, name } = index
  if (found === keepSeconds && partialFilterExpression === undefined) return
  const how = found === undefined ? 'removes nothing' : `keeps records for ${Number(found)} s`
  const what = partialFilterExpression === undefined ? how : 'covers only a part of the records'
  const remedy =
    found === undefined || partialFilterExpression !== undefined
      ? `drop it: ${dropping(names, name)}`
      : `give all processes that \`keep\`, or change it: db.runCommand({ collMod: '${names.collection}', ` +
        `index: { name: '${String(name)}', expireAfterSeconds: ${keepSeconds} } })`
  throw unusable(
    namespaceOf(names),
    `its index '${String(name)}' ${what}, but \`keep\` is ${keepSeconds} s; ${remedy}`,
  )
}

async function indexesOf(command: Command, { collection }: Names): Promise<readonly MongoDocument[]> {
  try {
    return firstBatch(await command({ listIndexes: collection, cursor: { batchSize: 100 } }))
  } catch (error) {
    if (codeOf(error) === NO_COLLECTION) return []
    throw error
  }
}

async function collectionOf(command: Command, { collection }: Names): Promise<MongoDocument | undefined> {
  const [found] = firstBatch(await command({ listCollections: 1, filter: { name: collection } }))
  return found
}

function problemOf(collection: MongoDocument | undefined): string | null {
  if (!collection) return null
  const { type, options } = collection as { type: string; options: MongoDocument }
  if (type !== 'collection') return `it is a ${type}, not a collection`
  if (options['capped'] === true) return 'it is a capped collection'
  if (options['collation'] !== undefined)
    return 'it has a collation, under which different keys may be the same'
  return null
}

function firstBatch(reply: MongoDocument): MongoDocument[] {
  return (reply['cursor'] as { firstBatch: MongoDocument[] }).firstBatch
}

function isOn(key: unknown, field: string): boolean {
  const [first, ...others] = Object.keys(key as object)
  return first === field && others.length === 0
}
