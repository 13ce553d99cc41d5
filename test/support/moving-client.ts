import type { Store } from '../../src/store.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import mongo, { type MongoStoreAddress } from './mongo-client.ts'
import postgres, { type PostgresAddress } from './postgres-client.ts'
import redis, { type RedisStoreAddress } from './redis-client.ts'

/** One of the two stores of a move. */
export type HouseAddress =
  | { readonly kind: 'redis'; readonly at: RedisStoreAddress }
  | { readonly kind: 'postgres'; readonly at: PostgresAddress }
  | { readonly kind: 'mongo'; readonly at: MongoStoreAddress }

const clients = { redis, postgres, mongo }

export interface MoveAddress {
  readonly from: HouseAddress
  readonly to: HouseAddress
}

/** A store on a client of its own, which ends with the store. */
export async function houseAt({ kind, at }: HouseAddress): Promise<Store> {
  return clients[kind](at)
}

/** Both, on clients of their own: each stands for a process. */
export default async function client(address: unknown): Promise<Store> {
  const { from, to } = address as MoveAddress
  return movingStore({ from: await houseAt(from), to: await houseAt(to) })
}
