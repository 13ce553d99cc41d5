import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, inject, it } from 'vitest'
import { importsOf, moduleGraph } from './module-graph.ts'

const { files, bare } = inject('packed')
const installed = join(bare, 'node_modules', 'holdfast')
const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
  bin: Record<string, string>
  exports: Record<string, string | Record<'types' | 'default', string>>
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: Record<string, { optional?: boolean }>
}
const subpaths = Object.entries(manifest.exports)
const modules = subpaths.flatMap(([subpath, target]) =>
  typeof target === 'string' ? [] : [{ subpath, types: target.types, file: target.default }],
)

describe('the tarball', () => {
  it('holds the built files, the documentation and the pages beside the README, and nothing else', () => {
    const expected = [
      /^dist\/.+\.(js|d\.ts)$/,
      /^dist\/dashboard\/(index\.html|assets\/[\w-]+\.(css|svg))$/,
      /^docs\/.+\.md$/,
      /^docs\/(holdfast\.schema\.json|grafana\/(holdfast\.json|alerts\.yaml))$/,
      // Figures that pages link to; pictures of the dashboard would be as large as all else.
      /^docs\/((benchmarks|scaling)\.json|images\/[\w-]+\.svg)$/,
    ]
    const others = files.filter((file) => !expected.some((form) => form.test(file)))
    const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json']
    expect(others.sort()).toEqual(pages)
  })

  it('holds the dashboard', () => {
    expect(files).toContain('dist/dashboard/index.html')
    expect(files.some((file) => /^dist\/dashboard\/assets\/[\w-]+\.js$/.test(file))).toBe(true)
  })

  it('holds no test of ours', () => {
    expect(files.filter((file) => /\.(test|bench|setup)\.|simulation|fixture/.test(file))).toEqual([])
  })

  it('brings what serves HTTP and what reads a configuration along, and nothing else', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['@hono/node-server', 'hono', 'yaml', 'zod'])
    expect(readdirSync(join(bare, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@hono',
      'holdfast',
      'hono',
      'yaml',
      'zod',
    ])
  })

  it('asks for a peer only as an option', () => {
    for (const peer of Object.keys(manifest.peerDependencies)) {
      expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true })
    }
  })
})

describe('exports', () => {
  it.each(modules)('$subpath is built, with its types', ({ types, file }) => {
    expect(files).toContain(file.slice(2))
    expect(files).toContain(types.slice(2))
  })

  const bareModules = modules.filter(({ subpath }) => !['./nestjs', './otel'].includes(subpath))
  it.each(bareModules)('$subpath can be imported and exports something', async ({ file }) => {
    const module = (await import(pathToFileURL(join(installed, file)).href)) as object
    expect(Object.keys(module)).not.toEqual([])
  })

  it('has a path for every store', () => {
    const stores = files.flatMap((file) => /^dist\/stores\/(?:[^/]+|[^/]+\/index)\.js$/.exec(file) ?? [])
    const exported = modules
      .map(({ file }) => file.slice(2))
      .filter((file) => file.startsWith('dist/stores/'))
    expect(exported.sort()).toEqual(stores.sort())
  })

  it('keeps its own manifest readable', () => {
    expect(manifest.exports['./package.json']).toBe('./package.json')
  })
})

describe('imports', () => {
  /** What a subpath is made for. */
  const own: Record<string, string[]> = {
    './config': ['zod'],
    './nestjs': ['@nestjs/common'],
    './otel': ['@opentelemetry/api'],
    './server': ['@hono/node-server', 'hono'],
  }
  it.each(modules)('$subpath needs node: built-ins and its own, and nothing else', ({ subpath, file }) => {
    const { packages } = moduleGraph(join(installed, file))
    expect([...packages].filter((name) => !name.startsWith('node:'))).toEqual(own[subpath] ?? [])
  })

  it('no store but the memory store, and no test suite, is loaded before it is asked for', () => {
    const reached = [...moduleGraph(join(installed, 'dist/index.js')).files].map((file) =>
      relative(installed, file),
    )
    const others = reached.filter((file) =>
      /dist\/(stores|testing|server|alerts|otel|cli|config|nestjs)\//.test(file),
    )
    // All but the first only read a URL, so that a wrong one fails at the call.
    expect(others.sort()).toEqual([
      'dist/stores/memory.js',
      'dist/stores/mongo/url.js',
      'dist/stores/mysql/url.js',
      'dist/stores/postgres/url.js',
      'dist/stores/redis/url.js',
      'dist/stores/sqlite/location.js',
    ])
  })

  it('every file is reached from an exported path', () => {
    const entries = [...modules.map(({ file }) => file), ...Object.values(manifest.bin)]
    const reached = new Set(entries.flatMap((file) => [...moduleGraph(join(installed, file)).files]))
    const unreached = files.filter((file) => file.endsWith('.js') && !reached.has(join(installed, file)))
    const empty = (file: string): boolean => readFileSync(join(installed, file), 'utf8') === 'export {};\n'
    // A file of types alone has nothing to import; the suite starts `child.js` as a process of its own; the program loads
    // what opens a store when it needs one, and the server its description; the dashboard runs in a browser.
    const own = unreached.filter((file) => !empty(file) && !file.startsWith('dist/dashboard/'))
    expect(own).toEqual([
      'dist/cli/settings.js',
      'dist/server/openapi.js',
      'dist/server/schemas.js',
      'dist/testing/child.js',
    ])
  })

  it('the declarations need no other package, not even the types of Node', () => {
    const named = files
      .filter((file) => file.endsWith('.d.ts'))
      .flatMap((file) => importsOf(join(installed, file)).map((specifier) => ({ file, specifier })))
    const others = named.filter(({ specifier }) => !specifier.startsWith('.'))
    // Nobody imports the program.
    expect(others.filter(({ file }) => !/^dist\/(nestjs|otel|cli)\//.test(file))).toEqual([])
  })

  it('a package loaded on demand is declared', () => {
    const loaded = modules.flatMap(({ file }) => [...moduleGraph(join(installed, file)).loaded])
    const packages = loaded.filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
    const { dependencies, peerDependencies } = manifest
    const declared = Object.keys({ ...dependencies, ...peerDependencies })
    // `mysql2/promise` is of mysql2.
    for (const name of packages) expect(declared.some((each) => `${name}/`.startsWith(`${each}/`))).toBe(true)
  })
})
