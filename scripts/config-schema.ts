/**
 * `npm run schema`: writes the JSON Schema of a configuration into a file, for editors. A test checks that it is up to
 * date.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configSchema } from '../src/config/index.ts'

export const SCHEMA_FILE: URL = new URL('../docs/holdfast.schema.json', import.meta.url)

export function schemaText(): string {
  return `${JSON.stringify(configSchema, null, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(SCHEMA_FILE, schemaText())
