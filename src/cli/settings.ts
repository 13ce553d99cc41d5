import { resolve } from 'node:path'
import { check } from '../config/check.ts'
import { defaultFile } from '../config/default-file.ts'
import { FileFeed } from '../config/file-feed.ts'
import { locksFromConfig } from '../config/index.ts'
import type { Settings } from '../config/settings.ts'
import { type Environ, Variables } from '../config/variables.ts'
import { systemEnvironment } from '../environment.ts'
import type { Locks } from '../locks.ts'
import { hidePassword } from './failure.ts'

/** What `openLocks` goes by. It opens nothing. */
export async function readSettings(env: Environ): Promise<Settings> {
  const variables = new Variables(env)
  const file = variables.file ?? defaultFile()
  const path = file === undefined ? null : resolve(file)
  const config = path === null ? {} : await new FileFeed(path, systemEnvironment).first()
  const { settings } = await check(config, { name: path, variables, hasStore: false })
  hidePassword(settings.store?.url)
  hidePassword(settings.store?.listen)
  return settings
}

export async function openLocks(env: Environ): Promise<Locks> {
  const { service } = await readSettings(env)
  const named = service === undefined ? { ...env, HOLDFAST_SERVICE: 'holdfast' } : env
  // Without a logger: the command itself says what goes wrong, once.
  return locksFromConfig({ env: named, logger: null })
}
