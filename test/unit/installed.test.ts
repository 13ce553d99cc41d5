import { describe, expect, it } from 'vitest'
import { ifInstalled, installed } from '../../src/databases/installed.ts'

const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' })
const broken = Object.assign(new Error('a native module for another system'), { code: 'ERR_DLOPEN_FAILED' })

describe('a driver', () => {
  it('is loaded', async () => {
    expect(await ifInstalled(async () => 'pg')).toBe('pg')
    expect(await installed(async () => 'pg', 'install pg')).toBe('pg')
  })

  it('that is missing leaves the choice to the next, and the last says what to install, and why', async () => {
    expect(await ifInstalled(() => Promise.reject(missing))).toBeUndefined()
    await expect(installed(() => Promise.reject(missing), 'install pg')).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'install pg',
      cause: missing,
    })
  })

  it('that is there and cannot be loaded is not taken for a missing one', async () => {
    await expect(ifInstalled(() => Promise.reject(broken))).rejects.toBe(broken)
    await expect(installed(() => Promise.reject(broken), 'install pg')).rejects.toBe(broken)
  })
})
