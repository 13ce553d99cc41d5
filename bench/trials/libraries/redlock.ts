import { createRequire } from 'node:module'
import * as sesamecare from '@sesamecare-oss/redlock'
import { type Access, type Library, onAbort, type Terms } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

type Redlock = typeof sesamecare.Redlock

const require = createRequire(import.meta.url)
/** The interval of both at which they ask again. */
const RETRY_MS = 200

/** Its types are not found under `nodenext`; those of the fork are the same. */
export async function redlock(access: Access): Promise<Library> {
  return library((require('redlock') as { default: Redlock }).default, access)
}

export async function fork(access: Access): Promise<Library> {
  return library(sesamecare.Redlock, access)
}

function library(Class: Redlock, access: Access): Library {
  // More than one server: one lock by the vote of all.
  const urls = access.cluster ? [access.url] : access.url.split(',')
  const clients = urls.map((url) => redisClient({ ...access, url }))
  const locks = new Class(clients)
  // Else an error that it emits, such as a lock that someone has, ends the process.
  locks.on('error', () => {})
  const takeAll = async (keys: readonly string[], terms: Terms) => {
    const lock = await locks.acquire([...keys], terms.leaseMs, settings(terms))
    return { release: () => lock.release(), says: () => lock.expiration > Date.now() }
  }
  return {
    section: (key, terms, body) =>
      locks.using([key], terms.leaseMs, settings(terms), (signal) =>
        body({ onLoss: onAbort(signal), says: () => !signal.aborted }),
      ),
    take: (key, terms) => takeAll([key], terms),
    takeAll,
    close: async () => void (await Promise.all(clients.map(endClient))),
  }
}

function settings({ waitMs }: Terms): { retryCount?: number } {
  return waitMs === undefined ? {} : { retryCount: Math.ceil(waitMs / RETRY_MS) }
}
