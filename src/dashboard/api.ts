import type { LockDetailJson, LockJson, ProblemJson, ReleasedJson, StatsJson } from '../server/wire.ts'
import { refused, token } from './session.ts'

const TIMEOUT_MS = 15_000

/** The server answered, and not with what was asked for. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** All addresses are relative: the server can be mounted under any path. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const sent = token.value
  const headers = new Headers(init.headers)
  if (sent !== null) {
    // What cannot stand in a header is no token.
    if (!/^[\x21-\x7e]+$/.test(sent)) refused.value = { wrong: true }
    else headers.set('authorization', `Bearer ${sent}`)
  }
  if (refused.value) throw new ApiError(401, '')
  const response = await fetch(path, { ...init, headers, cache: 'no-store', redirect: 'error' })
  if (response.ok) return response
  // Unless another one was given meanwhile.
  if (response.status === 401 && token.value === sent) refused.value = { wrong: sent !== null }
  throw new ApiError(response.status, await detailOf(response))
}

export function readStats(): Promise<StatsJson> {
  return readJson('api/stats')
}

export function readLock(key: string): Promise<LockDetailJson> {
  return readJson(pathOf(key))
}

/** Frees nothing unless the grant that was shown is still in force. */
export function releaseLock({ key, grant }: LockJson, why: string): Promise<ReleasedJson> {
  return readJson(pathOf(key, { grant: String(grant), why }), { method: 'DELETE' })
}

async function readJson<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await request(path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  return (await response.json()) as T
}

// Not as a part of the path: browsers take `.` and `..` out of it, and proxies more.
function pathOf(key: string, query: Record<string, string> = {}): string {
  return `api/locks?${new URLSearchParams({ key, ...query }).toString()}`
}

async function detailOf(response: Response): Promise<string> {
  try {
    const { detail, title } = (await response.json()) as Partial<ProblemJson>
    return detail ?? title ?? String(response.status)
  } catch {
    return `HTTP ${response.status}`
  }
}
