import { resolve } from 'node:path'
import { type Environment, systemEnvironment } from '../environment.ts'
import { createLocks, type Locks } from '../locks.ts'
import type { Logger } from '../monitor/journal.ts'
import { checkNames } from '../option-check.ts'
import type { Store } from '../store.ts'
import { ConfiguredAlerts } from './alerts.ts'
import { check } from './check.ts'
import { defaultFile } from './default-file.ts'
import type { Feed } from './feed.ts'
import { FileFeed } from './file-feed.ts'
import { invalid } from './problems.ts'
import { Reload } from './reload.ts'
import { type ConfigSource, SourceFeed } from './source-feed.ts'
import { type Environ, Variables } from './variables.ts'

/** Options of `locksFromConfig`. */
export interface ConfigOptions {
  /** A `.json`, `.yaml` or `.yml` file. Absent: HOLDFAST_CONFIG, then holdfast.config.* in the working directory. */
  readonly file?: string | undefined
  /** The variables that go before the file. Default `process.env`. */
  readonly env?: Environ | undefined
  /** Gives configurations instead of a file: the first one to start with, later ones as changes. */
  readonly source?: ConfigSource | undefined
  /** A store of your own, for one that a URL cannot describe. Then the configuration must not name any. */
  readonly store?: Store | undefined
  /** As of `createLocks`. */
  readonly logger?: Logger | null | undefined
  /** As of `createLocks`. */
  readonly environment?: Environment | undefined
}

const OPTIONS = ['file', 'env', 'source', 'store', 'logger', 'environment']

/**
 * A client made by a configuration, and changed with it: what is valid counts for acquisitions from then on, and no
 * lease is dropped for it. What is not is reported as the event `error`, and the last valid settings stay. Ends with the
 * client. Rejects with one INVALID_OPTION that names all that is wrong, and shows no value.
 */
export async function locksFromConfig(options: ConfigOptions = {}): Promise<Locks> {
  const { env, environment, store: own, logger } = checkOptions(options)
  const variables = new Variables(env)
  const feed = feedOf(options, variables, environment)
  const terms = { name: feed?.name ?? null, variables, hasStore: own !== undefined }
  try {
    const { settings, store } = await check(feed ? await feed.first() : {}, terms)
    const { defaults, service, instance, callTimeout } = settings
    const given = { service, instance, callTimeout, logger, environment }
    const locks = createLocks((own ?? store) as Store, { ...defaults, ...given })
    const alerts = new ConfiguredAlerts(locks, environment)
    alerts.apply(settings.alerts)
    if (feed) new Reload(locks, feed, alerts, terms, settings).begin()
    return locks
  } catch (error) {
    await feed?.close()
    throw error
  }
}

function checkOptions(options: ConfigOptions): ConfigOptions & { env: Environ; environment: Environment } {
  checkNames('locksFromConfig', options, OPTIONS)
  const { file, source, env = process.env, environment = systemEnvironment } = options
  if (file !== undefined && (typeof file !== 'string' || file === '' || file.includes('\0')))
    throw invalid('file: give the path of a .json, .yaml or .yml file')
  if (source !== undefined && !isSource(source))
    throw invalid('source: give an async iterable, or a function that returns one')
  if (file !== undefined && source !== undefined) throw invalid('give either file or source')
  if (typeof env !== 'object' || env === null) throw invalid('env: give an object such as process.env')
  return { ...options, env, environment }
}

function feedOf(
  { file, source }: ConfigOptions,
  variables: Variables,
  environment: Environment,
): Feed | null {
  if (source !== undefined) {
    // Whoever has set it believes that it counts.
    if (variables.file !== undefined) throw invalid('HOLDFAST_CONFIG is set, but this program uses a source')
    return new SourceFeed(source, environment)
  }
  const path = file ?? variables.file ?? defaultFile()
  return path === undefined ? null : new FileFeed(resolve(path), environment)
}

function isSource(source: unknown): boolean {
  if (typeof source === 'function') return true
  return typeof (source as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function'
}
