import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Logger,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { LockError } from '../errors.ts'
import { createLocks, Locks } from '../locks.ts'
import type { LocksOptions } from '../options.ts'
import type { Store } from '../store.ts'
import { LocksHealth } from './health.ts'

/** Those of `createLocks`, and its store. Without a `logger`, warnings go to Nest's. */
export interface LocksModuleOptions extends LocksOptions {
  readonly store: Store | string
}

type Made = LocksModuleOptions | Locks

export interface LocksModuleAsyncOptions {
  /** Modules that export what `inject` names. */
  readonly imports?: ModuleMetadata['imports'] | undefined
  /** Tokens of what the factory takes, in order. */
  readonly inject?: FactoryProvider['inject'] | undefined
  /** Gives options, or a client. Either way the client is the module's, which closes it. */
  readonly useFactory: (...dependencies: never[]) => Made | Promise<Made>
}

/** One client of locks for an application: `Locks` and `LocksHealth` can be injected everywhere. */
export class LocksModule implements OnApplicationShutdown {
  readonly #locks: Locks

  /** @internal Nest makes it. */
  constructor(locks: Locks) {
    this.#locks = locks
  }

  static forRoot(options: LocksModuleOptions): DynamicModule {
    checkObject('forRoot', options)
    return dynamicModule([], { provide: Locks, useFactory: () => clientOf(options) })
  }

  static forRootAsync(options: LocksModuleAsyncOptions): DynamicModule {
    checkObject('forRootAsync', options, 'give { imports, inject, useFactory }')
    const { imports = [], inject = [], useFactory } = options
    if (typeof useFactory !== 'function')
      throw invalid('forRootAsync: useFactory: give a function that gives { store, … } or a client')
    return dynamicModule(imports, {
      provide: Locks,
      inject,
      useFactory: async (...dependencies) => clientOf(await useFactory(...(dependencies as never[]))),
    })
  }

  /**
   * Closes the client. The server is closed by then, so requests under way have ended under their locks; and a global
   * module comes after all that are not.
   */
  onApplicationShutdown(): Promise<void> {
    return this.#locks.close()
  }
}

Module({})(LocksModule)
Inject(Locks)(LocksModule, undefined, 0)

/** Where a compiler emits no types for decorators, as esbuild and tsx do not, `Locks` alone is not enough. */
export function InjectLocks(): PropertyDecorator & ParameterDecorator {
  return Inject(Locks)
}

// A client for each application that is made of the module: it is closed with it.
function dynamicModule(
  imports: NonNullable<ModuleMetadata['imports']>,
  client: FactoryProvider<Locks>,
): DynamicModule {
  return {
    module: LocksModule,
    global: true,
    imports,
    providers: [
      client,
      { provide: LocksHealth, inject: [Locks], useFactory: (locks: Locks) => new LocksHealth(locks) },
    ],
    exports: [Locks, LocksHealth],
  }
}

function clientOf(made: Made): Locks {
  if (made instanceof Locks) return made
  checkObject('useFactory', made)
  const { store, logger = warningsToNest(), ...options } = made
  return createLocks(store, { ...options, logger })
}

// As little as without Nest: it shows all levels by default, and each grant is a line at `debug`.
function warningsToNest(): LocksOptions['logger'] {
  const logger = new Logger('Locks')
  return { warn: (line) => logger.warn(line) }
}

function checkObject(
  where: string,
  options: unknown,
  wanted = "give { store: 'sqlite:./locks.db', … }",
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(`${where}: ${wanted}`)
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `LocksModule: ${message}`)
}
