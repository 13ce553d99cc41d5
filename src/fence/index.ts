export type {
  CheckOptions,
  Fence,
  FenceDatabase,
  FenceDialect,
  FenceOptions,
  FencePlace,
  FenceQuery,
  FenceRows,
  FenceTransaction,
  MongoFenceOptions,
  SqliteFence,
  Token,
} from './fence.ts'
export {
  type DocumentFence,
  documentFence,
  type DocumentFenceOptions,
  type FencedCollection,
  type FencedUpdateOptions,
} from './document.ts'
export { fence } from './guard.ts'
export {
  type FenceHeader,
  fenceHeader,
  type FenceHeaderOptions,
  type FetchRequest,
  fencingToken,
  type HeaderGuard,
  type HonoContext,
  type NodeRequest,
} from './header.ts'
export { type MemoryFence, memoryFence } from './memory.ts'
export type { NodeResponse } from './problem.ts'
export {
  type FenceIoredis,
  type FenceNodeRedis,
  type RedisFence,
  redisFence,
  type RedisFenceOptions,
  type ScriptInput,
} from './redis.ts'
export { fenceSql } from './sql.ts'
