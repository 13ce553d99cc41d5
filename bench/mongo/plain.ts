import type { Collection } from 'mongodb'

/** What one writes by hand: the key is the `_id`, and a second insert fails. No lease, no token, no waiting. */
export interface PlainLock {
  readonly _id: string
  readonly createdAt: Date
}

export async function take(locks: Collection<PlainLock>, key: string): Promise<void> {
  await locks.insertOne({ _id: key, createdAt: new Date() })
}

export async function giveBack(locks: Collection<PlainLock>, key: string): Promise<void> {
  const { deletedCount } = await locks.deleteOne({ _id: key })
  if (deletedCount !== 1) throw new Error(`"${key}" was not ours`)
}
