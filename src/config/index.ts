export { type ConfigOptions, locksFromConfig } from './locks-from-config.ts'
export { configSchema } from './schema.ts'
export type { AlertsConfig, KeyConfig, LocksConfig, StoreConfig } from './settings.ts'
export type { ConfigSource } from './source-feed.ts'
