// One Chromium for all test files, and the dashboard as it is in the sources now.
import { resolve } from 'node:path'
import chromium from '@sparticuz/chromium'
import { chromium as launcher } from 'playwright-core'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the browser is to be reached. */
    browser: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await build({ configFile: resolve(import.meta.dirname, '../../src/dashboard/vite.config.ts') })
  const server = await launcher.launchServer({
    executablePath: await chromium.executablePath(),
    // Not those that the package advises: in a single process the browser ends with its first page.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    headless: true,
    host: '127.0.0.1',
  })
  project.provide('browser', server.wsEndpoint())
  return () => server.close()
}
