import type { Db } from 'mongodb'
import type { Lease } from '../../src/index.ts'

const VERSION = 1
const ROLES = ['admin', 'auditor', 'clerk', 'guest']

interface Meta {
  readonly _id: 'schema'
  readonly version: number
}

interface Role {
  readonly _id: string
  readonly createdAt: Date
}

interface Observer {
  created(what: string): void
  halfWay(): Promise<void>
}

export async function isSetUp(db: Db): Promise<boolean> {
  const mark = await db.collection<Meta>('meta').findOne({ _id: 'schema' })
  return mark !== null && mark.version >= VERSION
}

/**
 * Each step may be done twice, since whoever comes after one that died finds half of it; the mark comes last. One that
 * only stood still, and lost its lease, stops at the next step.
 */
export async function setUp(db: Db, lease: Lease, observer: Observer): Promise<void> {
  await db.collection('users').createIndexes([
    { key: { email: 1 }, name: 'email', unique: true },
    { key: { createdAt: -1 }, name: 'newest' },
  ])
  for (const [i, role] of ROLES.entries()) {
    lease.assertHeld()
    if (i === ROLES.length / 2) await observer.halfWay()
    const { upsertedCount } = await db
      .collection<Role>('roles')
      .updateOne({ _id: role }, { $setOnInsert: { createdAt: new Date() } }, { upsert: true })
    if (upsertedCount > 0) observer.created(role)
  }
  lease.assertHeld()
  await db
    .collection<Meta>('meta')
    .updateOne({ _id: 'schema' }, { $set: { version: VERSION } }, { upsert: true })
}
