import { readFileSync } from 'node:fs'

/** Of holdfast: the same path from `src` and from `dist`. Unknown if it was put into one file with others. */
export function version(): string {
  return versionIn(new URL('../package.json', import.meta.url)) ?? 'unknown'
}

/** Of the package that this manifest is of; null if there is none. */
export function versionIn(manifest: string | URL): string | null {
  try {
    return String((JSON.parse(readFileSync(manifest, 'utf8')) as { version: unknown }).version)
  } catch {
    return null
  }
}
