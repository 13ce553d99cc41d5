/**
 * `npm run newest`: every store with every driver, and the simulation, on the newest Node that the package is tried on.
 * The rest of `npm test` runs on the oldest.
 */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { NODE_VERSIONS, nodeBinary } from '../test/package/node-versions.ts'

const root = resolve(import.meta.dirname, '..')
const node = await nodeBinary(NODE_VERSIONS[NODE_VERSIONS.length - 1]!, root)
const vitest = ['--disable-warning=ExperimentalWarning', 'node_modules/vitest/vitest.mjs', 'run']
const projects = ['--project', 'conformance', '--project', 'simulation', '--allowOnly=false']
const child = spawn(node, [...vitest, ...projects], { cwd: root, stdio: 'inherit' })
child.on('exit', (code) => (process.exitCode = code ?? 1))
