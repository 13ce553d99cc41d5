/**
 * `npm run --silent sbom > sbom.json`: what a user of the package gets installed with it, in CycloneDX. It is what
 * `npm sbom` knows, cut to what the production dependencies lead to: its own `--omit dev` also leaves out what
 * a development dependency needs as well.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}

interface Sbom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const root = resolve(import.meta.dirname, '..')

export function productionSbom(): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const printed = execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  })
  const all = JSON.parse(printed) as Sbom
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string
    dependencies: Record<string, string>
  }
  const own = all.metadata.component['bom-ref']
  const leadsTo = new Map(all.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const direct = Object.entries(manifest.dependencies).map(([name, version]) => `${name}@${version}`)
  const used = new Set(direct)
  // A set that grows while it is walked: what is added is walked too.
  for (const ref of used) for (const next of leadsTo.get(ref) ?? []) used.add(next)
  const dependencies = all.dependencies.filter(({ ref }) => used.has(ref))
  return {
    ...all,
    // npm takes the name of the folder.
    metadata: { ...all.metadata, component: { ...all.metadata.component, name: manifest.name } },
    components: all.components.filter((component) => used.has(component['bom-ref'])),
    dependencies: [{ ref: own, dependsOn: direct }, ...dependencies],
  }
}

if (process.argv[1] === import.meta.filename) console.log(JSON.stringify(productionSbom(), null, 2))
