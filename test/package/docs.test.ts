import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as holdfast from '../../src/index.ts'
import { run } from './command.ts'
import { type Example, examplesOf } from './examples.ts'

/**
 * The documentation says what is true: its examples compile against the sources, those marked `ts run`
 * run and print what the `text` block behind them says, its links lead somewhere, and all that the
 * package offers is in it.
 */
const root = resolve(import.meta.dirname, '..', '..')
const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...inDocs.map((file) => `docs/${file}`)]
  .filter((file) => file.endsWith('.md'))
  .sort()
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
const examples = pages.flatMap((page) => examplesOf(page, read(page)))

/** Nest is written with decorators of the older kind and parameter properties. */
const NEST = 'docs/nestjs.md'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default?: string }> }
  const paths: Record<string, string[]> = {}
  for (const [subpath, { default: built }] of Object.entries(exports)) {
    const source = built?.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    if (source) paths[join('holdfast', subpath)] = [join(root, source)]
  }
  // What a reader need not care about: a value that an example shows and does not use.
  const lenient = { isolatedDeclarations: false, noUnusedLocals: false, noUnusedParameters: false }
  const config = (forNest: boolean): object => ({
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      ...lenient,
      declaration: false,
      paths,
      ...(forNest ? { experimentalDecorators: true, erasableSyntaxOnly: false } : {}),
    },
    files: examples.filter(({ page }) => (page === NEST) === forNest).map(({ file }) => file),
    include: [],
  })
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config(false)))
  writeFileSync(join(folder, 'tsconfig.nest.json'), JSON.stringify(config(true)))
  for (const { file, source } of examples) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), source)
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('examples', () => {
  it('all compile against the sources', async () => {
    const fences = pages.flatMap((page) => [...read(page).matchAll(/```ts\b/g)])
    expect(new Set(examples.map(({ name }) => name)).size).toBe(fences.length)
    // The line of an error is the line in the page.
    for (const project of ['tsconfig.json', 'tsconfig.nest.json'])
      await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], folder)
  })

  it('the tour of the README is one that runs', () => {
    expect(examples.filter(({ page, runs }) => page === 'README.md' && runs)).not.toEqual([])
  })

  it.each(examples.filter(({ runs }) => runs))('$name runs', async (example: Example) => {
    const place = join(folder, `${example.file}.cwd`)
    mkdirSync(place)
    const args = ['--disable-warning=ExperimentalWarning', '--import', import.meta.resolve('tsx')]
    const env = { TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') }
    const printed = await run(process.execPath, [...args, join(folder, example.file)], place, { env })
    if (example.prints !== null) expect(printed).toBe(example.prints)
  })
})

describe('pages', () => {
  const exists = (path: string): boolean =>
    statSync(join(root, path), { throwIfNoEntry: false }) !== undefined

  it('link only to what is there', () => {
    const links = pages.flatMap((page) => {
      const found = read(page).matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)
      return [...found].map(([, path = '', anchor = '']) => {
        return { page, target: path === '' ? page : join(dirname(page), path), anchor }
      })
    })
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ target }) => !exists(target))).toEqual([])
    const anchored = links.filter(({ anchor }) => anchor !== '')
    expect(anchored.filter(({ target, anchor }) => !anchorsOf(read(target)).includes(anchor))).toEqual([])
  })

  it('name only files that are there', () => {
    const named = pages.flatMap((page) => {
      const found = read(page).matchAll(/`((?:src|test|docs|scripts|examples|bench)\/[\w./-]*)`/g)
      return [...found].map(([, path = '']) => ({ page, path }))
    })
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(({ path }) => !exists(path))).toEqual([])
  })
})

describe('docs/api.md', () => {
  const api = read('docs/api.md')
  const missing = (names: readonly string[]): string[] =>
    names.filter((name) => !new RegExp(`\\b${name}\\b`).test(api))

  it('has everything that the package exports', () => {
    const types = [...readFileSync(join(root, 'src/index.ts'), 'utf8').matchAll(/\b([A-Z]\w+)\b(?=[,\s}])/g)]
    expect(missing([...Object.keys(holdfast), ...types.map(([, name = '']) => name)])).toEqual([])
  })

  it('has every function and class of the other entries', async () => {
    const entries = Object.values(
      JSON.parse(read('package.json')).exports as Record<string, { default?: string }>,
    )
    const files = entries.flatMap(({ default: file }) => file ?? [])
    const sources = files.map((file) => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))
    const modules = await Promise.all(sources.map((file) => import(join(root, file)) as Promise<object>))
    const names = modules.flatMap((module) => Object.keys(module))
    expect(names).toEqual(expect.arrayContaining(['fencingToken', 'postgresStore', 'LocksModule']))
    expect(missing(names)).toEqual([])
  })

  it('has every method and every statistic', async () => {
    const locks = holdfast.createLocks(holdfast.memoryStore())
    const sources = read('src/locks.ts')
    const internal = [...sources.matchAll(/@internal[^/]*\*\/\s+(?:get |async )*(\w+)/g)].map(
      ([, name]) => name,
    )
    const ofLease = read('src/lease.ts').matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)
    const members = [
      ...Object.getOwnPropertyNames(Object.getPrototypeOf(locks)),
      ...[...ofLease].map(([, name]) => name ?? ''),
    ]
    expect(members).toEqual(expect.arrayContaining(['using', 'tokenFor', 'remainingMs']))
    expect(internal).toContain('constructor')
    expect(missing(members.filter((name) => !internal.includes(name)))).toEqual([])
    expect(missing(Object.keys(locks.stats()))).toEqual([])
    expect(missing(Object.keys(locks.stats().wait))).toEqual([])
    await locks.close()
  })

  it('has every option and every event', async () => {
    const locks = holdfast.createLocks(holdfast.memoryStore())
    const nonsense = { nonsense: 1 } as object
    const refusals = await Promise.all([
      knownTo(() => holdfast.createLocks(holdfast.memoryStore(), nonsense)),
      knownTo(() => locks.using('k', nonsense, () => 1)),
      knownTo(() => locks.once('k', nonsense as never)),
      knownTo(() => locks.elect('k', nonsense)),
      knownTo(() => locks.lockable(() => 1, nonsense as never)),
      knownTo(() =>
        locks.transaction(
          'k',
          () => Promise.resolve(),
          () => 1,
          nonsense,
        ),
      ),
      knownTo(() => locks.list(nonsense)),
      knownTo(() => locks.forceRelease('k', nonsense)),
      knownTo(() => locks.on('nonsense' as 'lost', () => undefined)),
    ])
    expect(refusals.flat().length).toBeGreaterThan(20)
    expect(missing(refusals.flat())).toEqual([])
    await locks.close()
  })
})

/** A refusal names all that would have been right. */
async function knownTo(call: () => unknown): Promise<string[]> {
  try {
    await call()
  } catch (error) {
    return /known (?:are|is) (.*)$/.exec((error as Error).message)?.[1]?.split(', ') ?? []
  }
  throw new Error('nonsense was accepted')
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
