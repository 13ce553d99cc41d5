import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { SCHEMA_FILE, schemaText } from '../../scripts/config-schema.ts'
import { configSchema, locksFromConfig } from '../../src/config/index.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/configuration.md'), 'utf8')

it('the JSON Schema for editors is that of the code; else run npm run schema', () => {
  expect(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'))).toEqual(JSON.parse(schemaText()))
})

describe('docs/configuration.md', () => {
  const blocks = [...page.matchAll(/^```(json|yaml)\n([\s\S]*?)\n```$/gm)]
    .filter(([, kind, text]) => kind === 'json' || text?.startsWith('# holdfast.config.yaml'))
    .map(([, kind, text = '']) => (kind === 'json' ? JSON.parse(text) : parse(text)) as unknown)

  it('shows configurations that are valid', async () => {
    expect(blocks).toHaveLength(2)
    for (const block of blocks) {
      const source = (async function* () {
        yield block
      })()
      await (await locksFromConfig({ source, env: {} })).close()
    }
  })

  it('names every setting', () => {
    const { properties } = configSchema as {
      properties: Record<string, { anyOf?: { properties?: object }[] }>
    }
    const store = properties['store']?.anyOf?.find((each) => each.properties)?.properties ?? {}
    const names = [...Object.keys(properties), ...Object.keys(store)]
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`\`${name}.`))).toEqual([])
  })

  it('names every variable', () => {
    const code = readFileSync(resolve(import.meta.dirname, '../../src/config/variables.ts'), 'utf8')
    const names = [...new Set(code.match(/HOLDFAST_[A-Z]+(?:_[A-Z]+)?/g))]
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })
})
