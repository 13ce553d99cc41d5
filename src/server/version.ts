import { readFileSync } from 'node:fs'

/** The same path from `src/server` and from `dist/server`. */
export function serverVersion(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    return String((JSON.parse(text) as { version: unknown }).version)
  } catch {
    // Put into one file with others.
    return 'unknown'
  }
}
