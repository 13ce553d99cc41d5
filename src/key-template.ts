import { LockError } from './errors.ts'
import { checkKey, faultOf, MAX_KEY_BYTES } from './key.ts'

/** Makes the key of one call, from its `this` and its arguments. */
export type KeyTemplate = (self: unknown, args: readonly unknown[]) => string

interface Placeholder {
  /** As written, for messages. */
  readonly name: string
  readonly root: number | 'self'
  readonly path: readonly string[]
}

/** More than any key that it could give, with room for long paths. */
const MAX_TEMPLATE_LENGTH = 1024
/** Writing out a number of a million digits takes minutes. */
const BIGINT_LIMIT = 10n ** BigInt(MAX_KEY_BYTES)

const TOKEN = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g
const REFERENCE = /^(?:(?<index>0|[1-9]\d{0,8})|self(?=\.))(?<path>(?:\.[^.{}\s]+)*)$/

/**
 * Reads `'stock:{0.sku}:{self.tenant}'`: an argument by its number, or the instance, and a path of own properties.
 * Nothing is evaluated, also no getter. `{{` and `}}` are braces. A malformed template is INVALID_OPTION, here;
 * a value that is missing or no scalar is INVALID_LOCK_KEY, at the call.
 */
export function parseKeyTemplate(template: string): KeyTemplate {
  if (template.length > MAX_TEMPLATE_LENGTH)
    throw malformed(`the template has ${template.length} characters, the limit is ${MAX_TEMPLATE_LENGTH}`)
  const texts: string[] = []
  const placeholders: Placeholder[] = []
  let text = ''
  let from = 0
  for (const match of template.matchAll(TOKEN)) {
    const [token, reference] = match
    text += template.slice(from, match.index)
    from = match.index + token.length
    if (reference !== undefined) {
      placeholders.push(placeholder(template, reference))
      texts.push(text)
      text = ''
    } else if (token.length === 2) {
      text += token.slice(1)
    } else {
      throw malformed(
        `'${template}' has a lone '${token}' at ${match.index}; write '${token}${token}' for one`,
      )
    }
  }
  const last = text + template.slice(from)
  checkTexts(template, texts.join('') + last, placeholders.length > 0)
  return (self, args) => {
    let key = ''
    for (let i = 0; i < placeholders.length; i += 1) {
      const at = placeholders[i] as Placeholder
      key += (texts[i] as string) + scalar(at, valueOf(at, self, args))
    }
    key += last
    const fault = placeholders.length > 0 ? faultOf(key) : null
    if (fault) {
      const names = placeholders.map(({ name }) => name).join(', ')
      throw new LockError('INVALID_LOCK_KEY', `the key made with ${names} ${fault.what}; ${fault.remedy}`)
    }
    return key
  }
}

function placeholder(template: string, reference: string): Placeholder {
  const { index, path } = REFERENCE.exec(reference)?.groups ?? {}
  if (path === undefined) {
    throw malformed(
      `'{${reference}}' in '${template}' is no placeholder; give the number of an argument and a path of ` +
        "properties, such as {0} or {0.sku}, or a property of the instance, such as {self.tenant}; '{{' is a brace",
    )
  }
  return {
    name: `{${reference}}`,
    root: index === undefined ? 'self' : Number(index),
    path: path.split('.').slice(1),
  }
}

/** What stands between the placeholders is in every key. */
function checkTexts(template: string, texts: string, hasPlaceholders: boolean): void {
  try {
    checkKey(hasPlaceholders && texts === '' ? template : texts)
  } catch (error) {
    throw malformed((error as LockError).message)
  }
}

function valueOf({ name, root, path }: Placeholder, self: unknown, args: readonly unknown[]): unknown {
  let value = root === 'self' ? self : args[root]
  for (const part of path) {
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
      throw unusable(name, `there is no '${part}' in ${kindOf(value)}`)
    }
    const property = ownProperty(value, part, name)
    if (!property) throw unusable(name, `there is no own property '${part}'`)
    if (!('value' in property)) throw unusable(name, `'${part}' is a getter, which a template does not call`)
    value = property.value as unknown
  }
  return value
}

function ownProperty(object: object, part: string, name: string): PropertyDescriptor | undefined {
  try {
    return Object.getOwnPropertyDescriptor(object, part)
  } catch (cause) {
    // A proxy may do as it likes.
    throw unusable(name, `'${part}' cannot be read`, cause)
  }
}

function scalar({ name }: Placeholder, value: unknown): string {
  if (typeof value === 'string') {
    if (value === '') throw unusable(name, 'it is an empty string')
    if (value.length > MAX_KEY_BYTES)
      throw unusable(name, `it has ${value.length} characters, a key has at most ${MAX_KEY_BYTES} bytes`)
    const fault = faultOf(value)
    if (fault) throw unusable(name, `it ${fault.what}`)
    return value
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw unusable(name, `it is ${value}`)
  if (typeof value === 'bigint' && (value >= BIGINT_LIMIT || value <= -BIGINT_LIMIT))
    throw unusable(name, `it is a bigint of more than ${MAX_KEY_BYTES} digits`)
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
    throw unusable(name, `it is ${kindOf(value)}, not a string, number, bigint or boolean`)
  return String(value)
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (value === null) return 'null'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Says what kind of value it was and never shows it: it may be secret, and it may be long. */
function unusable(name: string, why: string, cause?: unknown): LockError {
  const message = `the placeholder ${name} of the key has no usable value: ${why}; give a function as key if need be`
  return new LockError('INVALID_LOCK_KEY', message, { cause })
}

function malformed(message: string): LockError {
  return new LockError('INVALID_OPTION', `key: ${message}`)
}
