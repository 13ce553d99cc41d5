import { defineConfig, type ViteUserConfig } from 'vitest/config'

/** Lets the test files of a project share servers; costs nothing until the first of them asks for one. */
const globalSetup = './test/servers/shared.setup.ts'

/** A project is a folder under test/. Projects run one after the other, in the order given here. */
const projects = [
  { name: 'unit', testTimeout: 5_000, maxWorkers: 2 },
  // Real files, real processes, real time: too slow to run after every change. They mostly wait.
  { name: 'faults', testTimeout: 60_000, maxWorkers: 5, globalSetup },
  // Starts processes of its own and measures leases in real time; leases are long enough for some at once.
  { name: 'conformance', testTimeout: 60_000, maxWorkers: 3, globalSetup },
  { name: 'simulation', testTimeout: 120_000, maxWorkers: 2 },
  // Installs the packed tarball; the first run downloads the Node versions it is tried on.
  { name: 'package', testTimeout: 300_000, maxWorkers: 2, globalSetup: './test/package/packed.setup.ts' },
  // The dashboard, in one Chromium for all files. They mostly wait.
  { name: 'browser', testTimeout: 20_000, maxWorkers: 2, globalSetup: './test/browser/browser.setup.ts' },
]

const config: ViteUserConfig = defineConfig({
  test: {
    retry: 0,
    maxConcurrency: 2,
    projects: projects.map(({ name, ...test }, groupOrder) => ({
      extends: true,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        pool: 'forks',
        hookTimeout: test.testTimeout,
        // A second is not enough for a browser, or a new connection, on a busy machine.
        expect: { poll: { timeout: Math.min(10_000, test.testTimeout / 2) } },
        sequence: { groupOrder },
        ...test,
      },
    })),
  },
})

export default config
