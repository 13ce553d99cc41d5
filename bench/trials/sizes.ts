import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CONTENDERS, manifestOf, versionOf } from './contenders.ts'
import { number } from './facts.ts'

/** What a project gets on its disk with each package: the last of the tables. */
export function sizes(): string[] {
  const names = [...new Set(Object.values(CONTENDERS).map((each) => each.package))].filter(
    (name) => name !== 'ioredis',
  )
  return [
    '### Size and dependencies',
    '',
    'Files of the package as it is published, and all packages that come with it, without clients of databases that the',
    'project brings itself (advisory-lock, etcd3 and mongo-dlock bring theirs). **Wished for:** little.',
    '',
    '| library | own files | packages that come with it | all together |',
    '|---|---|---|---|',
    ...names.map((name) => {
      const others = withDependencies(name)
      const own = ownBytes(name)
      const all = [...others].reduce((sum, each) => sum + ownBytes(each), own)
      const label = name === 'holdfast' ? '**holdfast**' : `${name} ${versionOf(name)}`
      return `| ${label} | ${kib(own)} | ${others.size} | ${kib(all)} |`
    }),
    '',
  ]
}

function kib(bytes: number): string {
  return `${number(bytes / 1024)} KiB`
}

function withDependencies(name: string, seen: Set<string> = new Set()): Set<string> {
  const { dependencies = {} } = JSON.parse(readFileSync(manifestOf(name), 'utf8')) as {
    dependencies?: Record<string, string>
  }
  for (const each of Object.keys(dependencies)) {
    if (seen.has(each) || !existsSync(manifestOf(each))) continue
    seen.add(each)
    withDependencies(each, seen)
  }
  return seen
}

function ownBytes(name: string): number {
  const folder = fileURLToPath(new URL('.', manifestOf(name)))
  if (name !== 'holdfast') return bytesIn(folder)
  // As published: see `files` of package.json.
  const docs = bytesIn(`${folder}docs`, '.png')
  const single = ['CHANGELOG.md', 'README.md', 'LICENSE', 'package.json'].map(
    (file) => lstatSync(folder + file).size,
  )
  return single.reduce((sum, each) => sum + each, bytesIn(`${folder}dist`) + docs)
}

function bytesIn(folder: string, leftOut?: string): number {
  let sum = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) sum += entry.name === 'node_modules' ? 0 : bytesIn(path, leftOut)
    else if (leftOut === undefined || !path.endsWith(leftOut)) sum += lstatSync(path).size
  }
  return sum
}
