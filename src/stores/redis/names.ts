/**
 * Where things are: the record of a key at `prefix:{bucket}:key`, the fence of its bucket at `prefix:{bucket}:fence`,
 * and the channel of a process that waits at `prefix:{bucket}:freed:process`. On a cluster the braces keep a bucket in
 * one slot. Sixty-four buckets bound the number of fences and of channels, and still spread over every master.
 */
export class Names {
  readonly #prefix: string
  /** What the client puts before the name of a key by itself. */
  readonly #keyPrefix: string

  constructor(prefix: string, keyPrefix: string) {
    this.#prefix = prefix
    this.#keyPrefix = keyPrefix
  }

  record(key: string): string {
    return this.#in(bucketOf(key)) + escaped(key)
  }

  fence(bucket: string): string {
    return `${this.#in(bucket)}${FENCE}`
  }

  /** In full, as the server knows it. */
  channel(bucket: string, waiter: string): string {
    return `${this.#keyPrefix}${this.#in(bucket)}freed:${waiter}`
  }

  /** How much of a record's full name comes before the key, in bytes: the same for each. */
  get baseLength(): number {
    return Buffer.byteLength(this.#keyPrefix + this.#in('00'))
  }

  /** Of a message, which is what comes after that. */
  keyOf(rest: string): string {
    return unescaped(rest)
  }

  /** For SCAN, which takes full names. */
  pattern(keysFrom: string): string {
    return `${literal(`${this.#keyPrefix}${this.#prefix}:{`)}??}:${literal(keysFrom)}*`
  }

  /** Of a full name that SCAN found; undefined if it is not that of a record. */
  keyIn(name: string): string | undefined {
    const rest = name.slice(`${this.#keyPrefix}${this.#in('00')}`.length)
    if (rest === FENCE) return undefined
    const key = unescaped(rest)
    // Something else whose name looks alike.
    return `${this.#keyPrefix}${this.record(key)}` === name ? key : undefined
  }

  #in(bucket: string): string {
    return `${this.#prefix}:{${bucket}}:`
  }
}

const BUCKETS = 64
const FENCE = 'fence'

/** Two digits. FNV-1a over UTF-16: never to be changed, or two versions of holdfast would each have their own lock. */
export function bucketOf(key: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return String((hash >>> 0) % BUCKETS).padStart(2, '0')
}

/** A key may be called "fence". */
function escaped(key: string): string {
  return key.startsWith(FENCE) && /^fence:*$/.test(key) ? `${key}:` : key
}

function unescaped(rest: string): string {
  return rest.startsWith(FENCE) && /^fence:+$/.test(rest) ? rest.slice(0, -1) : rest
}

/** No wildcard. */
function literal(text: string): string {
  return text.replace(/[*?[\]^\\]/g, '\\$&')
}
