import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import { parseKeyTemplate } from '../../src/key-template.ts'

function failure(run: () => unknown): LockError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(LockError)
    return error as LockError
  }
  throw new Error('this should have failed')
}

const key = (template: string, args: readonly unknown[], self?: unknown): string =>
  parseKeyTemplate(template)(self, args)

describe('a template', () => {
  it.each<[string, unknown[], string]>([
    ['stock:{0.sku}:{1}', [{ sku: 'a-1' }, 7], 'stock:a-1:7'],
    ['{0}', ['whole'], 'whole'],
    ['{1}{0}', ['a', 'b'], 'ba'],
    ['{0}-{0}', ['twice'], 'twice-twice'],
    ['no placeholder', [], 'no placeholder'],
    ['{{{0}}}', ['braced'], '{braced}'],
    ['{{0}} {{}} {{', ['not me'], '{0} {} {'],
    ['{0.a.b.c}', [{ a: { b: { c: 'deep' } } }], 'deep'],
    ['{0.1.id}', [[{ id: 1 }, { id: 2 }]], '2'],
    ['{0.length}', [['x', 'y']], '2'],
    ['{0.first-name}:{0.größe}', [{ 'first-name': 'A', größe: 'L' }], 'A:L'],
    ['{0} {1} {2} {3}', [true, 12n, -0, 1.5], 'true 12 0 1.5'],
    ['{10}', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 'ten'], 'ten'],
    ['stock:{0}', ['a:b {0} {{'], 'stock:a:b {0} {{'],
  ])('%s', (template, args, made) => expect(key(template, args)).toBe(made))

  it('reads the instance, also if that is a class', () => {
    class Shop {
      static region = 'eu'
      tenant = 't1'
    }
    expect(key('{self.tenant}:{0}', ['x'], new Shop())).toBe('t1:x')
    expect(key('{self.region}', [], Shop)).toBe('eu')
  })
})

describe('a malformed template fails when it is declared', () => {
  it.each<[string, string, RegExp]>([
    ['an empty one', '', /must not be empty/],
    ['a brace that is not closed', 'stock:{0', /a lone '\{' at 6/],
    ['a brace that was not opened', 'stock:0}', /a lone '\}' at 7; write '\}\}'/],
    ['an empty placeholder', '{}', /is no placeholder; give the number of an argument/],
    ['the name of a parameter', '{sku}', /'\{sku\}' in '\{sku\}' is no placeholder/],
    ['SpEL', '{#sku}', /is no placeholder/],
    ['the instance as a whole', '{self}', /is no placeholder/],
    ['another word that starts like the instance', '{selfish.a}', /is no placeholder/],
    ['blanks', '{ 0 }', /is no placeholder/],
    ['a path that ends with a dot', '{0.}', /is no placeholder/],
    ['an empty name', '{0..a}', /is no placeholder/],
    ['brackets', '{0[1]}', /is no placeholder/],
    ['a call', '{0.a()} {0 + 1}', /is no placeholder/],
    ['a negative number', '{-1}', /is no placeholder/],
    ['a number with a zero before it', '{01}', /is no placeholder/],
    ['a control character', 'a\nb{0}', /control character/],
    ['more text than a key may have', `${'x'.repeat(600)}{0}`, /600 bytes of UTF-8, the limit is 512/],
  ])('%s', (_what, template, says) => {
    const error = failure(() => parseKeyTemplate(template))
    expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(says) })
  })

  it('one of 10 MB is refused at once, and not shown', () => {
    for (const part of ['{0}', '{', '{{', 'x', '{0.a']) {
      const error = failure(() => parseKeyTemplate(part.repeat(10_000_000 / part.length)))
      expect(error.code).toBe('INVALID_OPTION')
      expect(error.message.length).toBeLessThan(200)
    }
  })
})

describe('a value that cannot be part of a key fails at the call', () => {
  class Article {
    get sku(): string {
      return 'from the prototype'
    }
  }
  const called: string[] = []
  const withGetter = Object.defineProperty({}, 'sku', {
    get: () => called.push('a getter was called'),
    enumerable: true,
  })
  const hostile = new Proxy(
    {},
    {
      get: () => called.push('a trap was called'),
      getOwnPropertyDescriptor: () => {
        throw new Error('keep out')
      },
    },
  )
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle

  it.each<[string, string, unknown, RegExp]>([
    ['a missing argument', '{1}', 'x', /\{1\} of the key .* it is undefined/],
    ['null', '{0}', null, /\{0\} .* it is null/],
    ['an empty string', '{0.sku}', { sku: '' }, /\{0\.sku\} .* it is an empty string/],
    ['NaN', '{0}', Number.NaN, /it is NaN/],
    ['Infinity', '{0}', -Infinity, /it is -Infinity/],
    ['an object', '{0}', { toString: () => 'fake' }, /it is an object, not a string/],
    ['a boxed string', '{0}', Object('boxed'), /it is an object/],
    ['a list', '{0}', ['a'], /it is an object/],
    ['a function', '{0}', () => 'x', /it is a function/],
    ['a symbol', '{0}', Symbol('s'), /it is a symbol/],
    ['a missing property', '{0.sku}', {}, /\{0\.sku\} .* no own property 'sku'/],
    ['a property of nothing', '{0.a.b}', { a: null }, /there is no 'b' in null/],
    ['a property of a string', '{0.length}', 'text', /there is no 'length' in a string/],
    ['a cycle', '{0.self.self}', cycle, /it is an object/],
    ['__proto__', '{0.__proto__.x}', { y: 1 }, /no own property '__proto__'/],
    ['constructor', '{0.constructor.name}', {}, /no own property 'constructor'/],
    ['toString', '{0.toString.name}', {}, /no own property 'toString'/],
    ['what it inherits', '{0.sku}', Object.create({ sku: 'inherited' }), /no own property 'sku'/],
    ['a getter of its class', '{0.sku}', new Article(), /no own property 'sku'/],
    ['a getter of its own', '{0.sku}', withGetter, /'sku' is a getter, which a template does not call/],
    ['a proxy that throws', '{0.sku}', hostile, /'sku' cannot be read/],
    ['a revoked proxy', '{0.sku}', revoked, /'sku' cannot be read/],
    ['a revoked proxy itself', '{0}', revoked, /it is an object/],
    ['10 MB of text', '{0}', 'x'.repeat(10_000_000), /it has 10000000 characters/],
    ['a control character in 10 MB', '{0}', '\n'.repeat(10_000_000), /it has 10000000 characters/],
    ['a bigint of a million digits', '{0}', 1n << 4_000_000n, /a bigint of more than 512 digits/],
  ])('%s', (_what, template, value, says) => {
    const error = failure(() => key(template, [value]))
    expect(error).toMatchObject({ code: 'INVALID_LOCK_KEY', message: expect.stringMatching(says) })
    expect(error.message.length).toBeLessThan(250)
    expect(called).toEqual([])
  })

  it.each<[string, string, unknown[], string]>([
    [
      'a control character',
      'stock:{0}',
      ['hunter2\n'],
      '{0} of the key has no usable value: it contains a control',
    ],
    [
      'half a surrogate pair',
      '{0.sku}',
      [{ sku: 'hunter2\ud83d' }],
      '{0.sku} of the key .* half a surrogate pair',
    ],
    [
      'too many bytes',
      '{1}',
      [0, `hunter2${'€'.repeat(200)}`],
      '{1} .* 607 bytes of UTF-8, the limit is 512; give',
    ],
    [
      'values that are too long together',
      '{0}:{1.a}',
      [`hunter2${'x'.repeat(300)}`, { a: 'x'.repeat(300) }],
      'the key made with {0}, {1.a} has 608 bytes of UTF-8, the limit is 512; hash the long part',
    ],
    ['a bigint that leaves no room', 'hunter:{0}', [-(10n ** 511n)], 'the key made with {0} has 520 bytes'],
    [
      'a pair that a value parts',
      'a\ud83d{0}\ude00',
      ['hunter2'],
      'made with {0} contains half a surrogate pair',
    ],
  ])('%s: the message names the placeholder and never shows the value', (_what, template, args, says) => {
    const error = failure(() => key(template, args))
    const pattern = new RegExp(says.replaceAll(/[{}]/g, '\\$&'))
    expect(error).toMatchObject({ code: 'INVALID_LOCK_KEY', message: expect.stringMatching(pattern) })
    expect(error.message).not.toMatch(/hunter2|xxx|€|000/)
  })

  it('what a proxy threw is the cause', () => {
    expect(failure(() => key('{0.sku}', [hostile])).cause).toMatchObject({ message: 'keep out' })
  })

  it('an own property called __proto__ is a property like any other', () => {
    expect(key('{0.__proto__.x}', [JSON.parse('{"__proto__": {"x": "own"}}')])).toBe('own')
  })

  it('the instance is missing in a plain call', () => {
    expect(failure(() => key('{self.tenant}', []))).toMatchObject({
      code: 'INVALID_LOCK_KEY',
      message: expect.stringContaining(
        "{self.tenant} of the key has no usable value: there is no 'tenant' in",
      ),
    })
  })
})
