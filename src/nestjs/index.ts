// A value here, unlike in the index: the class is the token that Nest injects by.
export { Locks } from '../locks.ts'
export { LocksHealth, type LocksHealthResult } from './health.ts'
export { Locked } from './locked.ts'
export { InjectLocks, LocksModule, type LocksModuleAsyncOptions, type LocksModuleOptions } from './module.ts'
