import { type INestApplicationContext, Module, type ModuleMetadata, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { afterEach } from 'vitest'

const apps: INestApplicationContext[] = []

afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))

// Tests are compiled with standard decorators, so those of Nest are called by hand.
export function moduleOf(metadata: ModuleMetadata): Type {
  class TrialModule {
    readonly name = 'trial'
  }
  Module(metadata)(TrialModule)
  return TrialModule
}

/** An application without a server, closed after the test. */
export async function start(
  module: Type,
  warn: (line: string) => void = () => {},
): Promise<INestApplicationContext> {
  const logger = { log() {}, error() {}, warn }
  const app = await NestFactory.createApplicationContext(module, { logger, abortOnError: false })
  apps.push(app)
  return app
}

/** As `@first @second method() {}` is compiled with `experimentalDecorators`: the last one comes first. */
export function decorate(target: object, name: string, ...decorators: unknown[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name)
  Object.defineProperty(
    target,
    name,
    Reflect.decorate(decorators as MethodDecorator[], target, name, descriptor) ?? {},
  )
}
