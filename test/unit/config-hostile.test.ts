import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { file, folder, once, refusal, start } from './support/config.ts'

describe('secrets', () => {
  const secret = 'hunter2secret'

  it.each([
    { store: `postgres//u:${secret}@host/db` },
    { store: `${secret}:x@host` },
    { store: { url: `u.${secret}:x@host/db`, table: 'locks' } },
    { store: `postgres://u:${secret}@ho st/db` },
    { store: { url: `redis://:${secret}@localhost:99999`, prefix: `${secret} {` } },
    { store: { url: `mongodb://u:${secret}@`, password: secret } },
    { store: `mongodb://u:pa/${secret}@h:1/db` },
    { store: { url: `mongodb://u:pa/${secret}@h`, collection: 'a' } },
    { store: `mongodb://u:pa/${secret}:p` },
    { store: `mongodb://u:${secret}/db` },
    { store: { url: 'postgres://localhost', table: `redis://:${secret}@h` } },
    { store: { url: 'postgres://localhost', listen: `x:${secret}@h` } },
    { store: { url: 'sqlite:./a.db', table: `${secret}!` } },
    {
      store: 'memory:',
      lease: secret,
      wait: `redis://:${secret}@h`,
      service: `\n${secret}`,
      password: secret,
    },
    { store: 'memory:', [`redis://u:${secret}@host`]: null, keys: { [`redis://u:${secret}@host`]: secret } },
    { store: 'memory:', poll: { min: [secret], [`a@${secret}`]: 1 } },
  ])('are not in the error for %#', async (value) => {
    expect(await refusal({ source: once(value) })).not.toContain(secret)
    const shown = await start({ source: once(value) }).catch(
      (error: Error) => `${error.stack} ${JSON.stringify(error)}`,
    )
    expect(shown).not.toContain(secret)
  })

  it.each([
    ['json', `{ "store": "redis://:${secret}@h", "lease": ${secret} }`],
    ['json', `{ "store": "redis://:${secret}@h" "lease": 1 }`],
    ['json', `"${secret}`],
    ['json', secret],
    ['yaml', `store: "redis://:${secret}@h\nlease: 1s`],
    ['yaml', `store: redis://:${secret}@h\n lease: 1s\n\tx: [`],
    ['yaml', `store: &a ${secret}\nlease: *${secret}`],
    ['yaml', `${secret}: 1\n${secret}: 2`],
    ['yaml', `store: !${secret} x`],
    ['yaml', `? { pass: ${secret} }\n: 1`],
    ['yaml', secret],
  ])('are not in the error for %s %j', async (kind, text) => {
    const path = file(`secret.${kind}`, text)
    const warnings: string[] = []
    const listener = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', listener)
    const message = await start({ file: path }).then(
      () => 'accepted',
      (error: Error) => `${error.stack} ${JSON.stringify(error.cause)}`,
    )
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listener)
    expect(message).toContain('LockError')
    expect(`${message} ${warnings.join()}`).not.toContain(secret)
  })
})

describe('a hostile file', () => {
  const levels = (count: number): string => `${'['.repeat(count)}${']'.repeat(count)}`

  it.each([
    ['empty.json', '', 'it is empty'],
    ['empty.yaml', ' \n', 'it is empty'],
    ['comment.yaml', '# nothing\n', 'it must be an object'],
    ['large.json', `{"service":"${'x'.repeat(10_000_000)}"}`, 'larger than 1 MiB'],
    ['nul.json', '{"store":"memory:\0"}', 'it has a NUL in it'],
    ['utf16.json', Buffer.from('\ufeff{"store":"memory:"}', 'utf16le'), 'it has a NUL in it'],
    ['latin1.json', Buffer.from('{"service":"caf\u00e9"}', 'latin1'), 'it is not UTF-8'],
    ['proto.json', '{"store":"memory:","__proto__":{"lease":"1h"}}', "'__proto__' is not allowed"],
    [
      'proto-key.json',
      '{"store":"memory:","keys":{"__proto__":{"lease":"1h"}}}',
      "keys: the name '__proto__'",
    ],
    ['proto.yaml', 'store: "memory:"\n__proto__: { lease: 1h }\n', "'__proto__' is not allowed"],
    ['deep.json', levels(100_000), 'nested too deeply'],
    ['deep.yaml', levels(10_000), 'nested too deeply at line 1, column 100'],
    ['deep-key.json', `{"keys":{"a":${'{"a":'.repeat(20)}1${'}'.repeat(20)}}}`, 'nested too deeply'],
    [
      'many.json',
      JSON.stringify({ keys: Array.from({ length: 30_000 }, () => 1) }),
      'more than 20000 values',
    ],
    ['cycle.yaml', 'keys: &a\n  x: *a\n', 'nested'],
    ['bomb.yaml', `a: &a [x,x,x,x,x,x,x,x,x]\n${bombOf('abcdefghi')}`, 'too many'],
    [
      'two.yaml',
      'store: "memory:"\n---\nstore: "memory:"\n',
      'it is not YAML at line 2, column 1 (MULTIPLE_DOCS)',
    ],
    ['braces.yaml', `${'{'.repeat(1000)}${'}'.repeat(1000)}`, 'nested too deeply at line 1'],
    ['names.yaml', '? '.repeat(1000), 'nested too deeply at line 1'],
    ['long.yaml', Array.from({ length: 30_000 }, (_, index) => `k${index}: 1`).join('\n'), 'more than 20000'],
    ['tag.yaml', 'store: !!js/function "x"\n', 'TAG_RESOLVE_FAILED'],
    ['merge.yaml', '<<: { store: "memory:" }\n', 'unknown <a name that is not shown>'],
    ['twice.yaml', 'store: "memory:"\nstore: "memory:"\n', 'line 2, column 1 has a name again'],
    ['broken.json', '{\n  "store": "memory:",\n}', 'it is not JSON at line 3, column 1'],
    ['config.toml', 'store = 1', 'must end in .json, .yaml or .yml'],
  ])('%s is refused', async (name, content, part) => {
    expect(await refusal({ file: file(name, content) })).toContain(part)
    expect(({} as { lease?: string }).lease).toBeUndefined()
  })

  it('that is none is refused', async () => {
    expect(await refusal({ file: join(folder, 'none.json') })).toContain('there is no such file')
    expect(await refusal({ file: `${file('a.txt', '')}/b.json` })).toContain('is not a folder')
    expect(await refusal({ env: { HOLDFAST_CONFIG: join(folder, 'none.json') } })).toContain('no such file')
    expect(await refusal({ file: '/dev/null/x.json' })).toContain('is not a folder')
    expect(await refusal({ file: `${folder}/${'x'.repeat(300)}.json` })).toContain('the path is too long')
  })
})

function bombOf(names: string): string {
  return names
    .slice(1)
    .split('')
    .map(
      (name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${names[index]}`).join(',')}]`,
    )
    .join('\n')
}

it('a file without the right to read it is refused', async () => {
  const path = file('secret.json', '{"store":"memory:"}')
  chmodSync(path, 0)
  // Root may read all.
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    expect(await refusal({ file: path })).toContain('this process may not read it')
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

describe('a hostile source', () => {
  class Setting {
    store = 'memory:'
  }
  const cycle: Record<string, unknown> = {}
  cycle['keys'] = cycle

  it.each([
    ['an instance', new Setting(), 'give a plain object'],
    ['a map', new Map([['store', 'memory:']]), 'give a plain object'],
    ['a sparse array', { keys: Object.assign([], { length: 2 ** 32 - 1 }) }, 'more than 20000 values'],
    ['a cycle', cycle, 'nested too deeply, or in itself'],
    ['a function', { store: () => 'memory:' }, 'a function cannot stand in'],
    ['a bigint', { lease: 5n }, 'a bigint cannot stand in'],
    [
      'a getter that throws',
      {
        get lease(): never {
          throw new Error('no')
        },
      },
      'it cannot be read',
    ],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no')
          },
        },
      ),
      'it cannot be read',
    ],
    ['an own __proto__', JSON.parse('{"poll":{"__proto__":1}}') as unknown, "poll: the name '__proto__'"],
  ])('that gives %s is refused', async (_, value, part) => {
    expect(await refusal({ source: once(value) })).toContain(part)
  })

  it('that ends, throws or is no iterable before the first value is refused', async () => {
    const failing = (): AsyncIterable<unknown> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })),
      }),
    })
    expect(await refusal({ source: (async function* () {})() })).toContain('ended without a configuration')
    expect(await refusal({ source: failing() })).toContain('it has failed (ECONNREFUSED)')
    expect(
      await refusal({ source: { [Symbol.asyncIterator]: () => ({ next: () => 5 }) } as never }),
    ).toContain('its next() gave no object')
  })
})
