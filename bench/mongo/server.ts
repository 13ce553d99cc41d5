import { randomBytes } from 'node:crypto'
import { type Db, MongoClient } from 'mongodb'

/** Where `index.ts` has a server for all rounds. */
const SERVER = 'HOLDFAST_MONGODB_URL'
/** What holdfast asks for on its own, for everyone: enough nodes have it, on disk. */
const CONCERN = 'w=majority&journal=true'

/**
 * Runs `work` with the URL of a new, empty database. Afterwards nothing may be held: a contender that does not give
 * back what it took would be fast for a wrong reason.
 */
export async function withDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const [, hosts, options] =
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)[^?]*\??(.*)$/.exec(process.env[SERVER] ?? '') ?? []
  if (hosts === undefined) throw new Error(`${SERVER} is not the URL of a server`)
  const name = `holdfast_bench_${randomBytes(6).toString('hex')}`
  const url = `${hosts}/${name}?${[options, CONCERN].filter(Boolean).join('&')}`
  try {
    const result = await work(url)
    await onServer(url, refuseHeld)
    return result
  } finally {
    await onServer(url, (db) => db.dropDatabase())
  }
}

/** Runs `work` on connections of its own, in the database of the URL. */
export async function onServer<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const client = new MongoClient(url)
  try {
    return await work(client.db())
  } finally {
    await client.close()
  }
}

export async function versionOf(db: Db): Promise<string> {
  return String((await db.command({ buildInfo: 1 }))['version'])
}

/** A free record of holdfast stays for a while; what others have is held. */
async function refuseHeld(db: Db): Promise<void> {
  for (const { name } of await db.listCollections().toArray()) {
    const held = await db.collection(name).countDocuments({ owner: { $ne: null } })
    const others = await db.collection(name).countDocuments({ freed: { $exists: false }, owner: null })
    if (held + others > 0) throw new Error(`${held + others} locks were left in ${name}`)
  }
}
