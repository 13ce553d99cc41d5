import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { productionSbom } from '../../scripts/sbom.ts'

const root = resolve(import.meta.dirname, '..', '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
> & { name: string; version: string }
const { bare } = inject('packed')

describe('the SBOM', () => {
  const { metadata, components, dependencies } = productionSbom()

  it('lists every production dependency, in the version that package.json names, with its hash', () => {
    const listed = new Map(components.map(({ name, version, hashes }) => [name, { version, hashes }]))
    for (const [name, version] of Object.entries(manifest.dependencies)) {
      expect(listed.get(name)).toEqual({
        version,
        hashes: [{ alg: 'SHA-512', content: expect.any(String) }],
      })
    }
  })

  it('lists nothing that an empty project does not get with the package', () => {
    const installed = readdirSync(join(bare, 'node_modules'), { encoding: 'utf8' }).flatMap((name) =>
      name.startsWith('@')
        ? readdirSync(join(bare, 'node_modules', name)).map((part) => `${name}/${part}`)
        : name,
    )
    const packages = installed.filter((name) => !name.startsWith('.') && name !== manifest.name)
    expect(components.map(({ name }) => name).sort()).toEqual(packages.sort())
  })

  it('names the package itself, and what it depends on', () => {
    expect(metadata.component).toMatchObject({ name: manifest.name, version: manifest.version })
    const [own] = dependencies
    expect(own?.dependsOn.toSorted()).toEqual(components.map((component) => component['bom-ref']).sort())
  })
})

describe('production dependencies', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; hasInstallScript?: boolean; dependencies?: object }>
  }

  it.each(Object.keys(manifest.dependencies))(
    '%s is pinned, runs nothing at install, and needs nothing else',
    (name) => {
      expect(manifest.dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/)
      const { integrity, hasInstallScript, dependencies } = lock.packages[`node_modules/${name}`] ?? {}
      expect(integrity).toMatch(/^sha512-/)
      expect({ hasInstallScript, dependencies }).toEqual({
        hasInstallScript: undefined,
        dependencies: undefined,
      })
    },
  )
})
