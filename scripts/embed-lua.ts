/**
 * `npm run embed`: writes the Lua files of the Redis store into a module. A file that is read at run time would be
 * missing from the bundle of whoever bundles holdfast. A test checks that the module is up to date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../src/stores/redis/lua/', import.meta.url)
export const MODULE: URL = new URL('../src/stores/redis/lua.ts', import.meta.url)

export function embedded(): string {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.lua'))
    .toSorted()
  const constants = files.map((name) => {
    // Without the lines that are comments: nobody reads them on the server.
    const text = readFileSync(new URL(name, FOLDER), 'utf8').replaceAll(/^ *--.*\n|^\n/gm, '')
    return `export const ${name.slice(0, -'.lua'.length)} = \`${text.replace(/[`\\]|\$(?=\{)/g, '\\$&')}\``
  })
  return (
    ['// Written by `npm run embed` from lua/*.lua: change those.', ...constants, ''].join('\n\n').trimEnd() +
    '\n'
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(MODULE, embedded())
