import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface ModuleGraph {
  /** Every built file reached from the entry by static imports, the entry included. */
  readonly files: ReadonlySet<string>
  /** What those files import statically from outside the package. */
  readonly packages: ReadonlySet<string>
  /** What they load with `import()`, by the specifier written there. */
  readonly loaded: ReadonlySet<string>
}

// Enough for the compiler's own output: statements begin a line, specifiers are plain strings.
const STATIC = /^(?:import|export)\s(?:[\w*{}\s,$]+\sfrom\s)?['"]([^'"\n]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

/** Every specifier in a file of JavaScript or declarations, imported statically or not. */
export function importsOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(STATIC), ...source.matchAll(DYNAMIC)].map(([, specifier = '']) => specifier)
}

export function moduleGraph(entry: string): ModuleGraph {
  const files = new Set<string>()
  const packages = new Set<string>()
  const loaded = new Set<string>()
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    const source = readFileSync(file, 'utf8')
    for (const [, specifier = ''] of source.matchAll(DYNAMIC)) loaded.add(specifier)
    for (const [, specifier = ''] of source.matchAll(STATIC)) {
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier))
      else packages.add(specifier)
    }
  }
  visit(resolve(entry))
  return { files, packages, loaded }
}
