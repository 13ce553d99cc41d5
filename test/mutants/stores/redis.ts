import { type Bug, mutant } from '../mutant.ts'

/** What is run: `npm run embed` writes it. */
const LUA = 'src/stores/redis/lua.ts'

export const REDIS_BUGS: readonly Bug[] = [
  mutant(
    'a release does not look at the owner',
    LUA,
    `if not text or not is_of(text, owner) then
    reply[i] = problem(KEYS[i], text) or 0`,
    `if not text then
    reply[i] = problem(KEYS[i], text) or 0`,
    'store release',
  ),
  mutant(
    'a release by the short way does not look at the owner',
    LUA,
    'not text or string.sub(text, 1, #owner) ~= owner or',
    'not text or',
    'store release',
  ),
  mutant(
    'a release by the short way does not look at who waits',
    LUA,
    ` or string.find(text, ',"wa', 1, true) then`,
    ' then',
    'store (release|watch)',
  ),
  mutant(
    'the fences of buckets are not written by the short way',
    LUA,
    `redis.pcall('MSET', unpack(raised))`,
    '{}',
    'store grants',
  ),
  mutant(
    'a number by the short way is that of the clock, also below the last one',
    LUA,
    'grants[i] = math.max(before + 1, now)',
    'grants[i] = now',
    'store grants',
  ),
  mutant(
    'the fence of a bucket is not written, and numbers fall back to the clock',
    LUA,
    `return #fences > 0 and pcall('MSET', unpack(fences)).err or nil`,
    'return nil',
    'store grants',
  ),
  mutant(
    'a late copy of an ask shortens the lease',
    LUA,
    `if call('PTTL', record) < tonumber(ask.lease) then`,
    'if tonumber(ask.lease) then',
    'store acquire',
  ),
  mutant(
    'a rotated record loses its expiry, and is held for ever',
    LUA,
    `call('SET', KEYS[i], with_grant(texts[i], grant), 'KEEPTTL')`,
    `call('SET', KEYS[i], with_grant(texts[i], grant))`,
    'store (renew|grants|expiry)',
  ),
  mutant(
    'an eviction does not look at the grant number',
    LUA,
    'or numbers_in(text) ~= tonumber(ARGV[1]) then return false end',
    'then return false end',
    'store (evict|repeats)',
  ),
  mutant(
    'a release tells nobody',
    LUA,
    `  call(publish, sub(record, 1, base) .. 'freed:' .. id, sub(record, base + 1))\n`,
    '',
    'store (watch|push)',
  ),
  mutant(
    'numbers only count, without the clock of the server',
    LUA,
    'math.max(last[number] + 1, now, at_least)',
    'math.max(last[number] + 1, at_least)',
    'store grants',
  ),
  {
    ...mutant(
      'what is no record is overwritten by the short way',
      LUA,
      `.. grant .. rest, 'PX', ARGV[3], 'NX')`,
      `.. grant .. rest, 'PX', ARGV[3])`,
      'asked for alone',
    ),
    tests: 'test/faults/redis-store-refused.test.ts',
  },
  {
    ...mutant(
      'a grant forgets who else waits for the key',
      LUA,
      `local tail = others ~= '' and ask.rest`,
      'local tail = others == nil and ask.rest',
      'G8 is one of 30',
    ),
    tests: 'test/faults/redis-store-waiters.test.ts',
  },
  {
    ...mutant(
      'a grant that too few replicas have is told as one',
      'src/stores/redis/store.ts',
      'isGranted(answer) ? { error: tooFewReplicas(seen, this.#replicas) } : answer,',
      'isGranted(answer) && seen < 0 ? { error: tooFewReplicas(seen, this.#replicas) } : answer,',
      'is taken back and reported$',
    ),
    tests: 'test/faults/redis-store-replicas.test.ts',
  },
  {
    ...mutant(
      'of a cluster, the answers of a node come in the wrong order',
      'src/stores/redis/parts.ts',
      'answers.set(key, each[index] as O)',
      'answers.set(key, each[part.length - 1 - index] as O)',
      'store (acquire|release) answers in the order',
    ),
    tests: 'test/conformance/redis-cluster-ioredis.test.ts',
  },
  {
    ...mutant(
      'a client that gives up between the nodes of a slot on its way goes on asking for all keys at once',
      'src/stores/redis/failures.ts',
      String.raw`\bTRYAGAIN\b|redirections\. Last error: \w+: (MOVED|ASK)\b`,
      String.raw`\bTRYAGAIN\b`,
      'G7 are called for one by one',
    ),
    tests: 'test/unit/redis-parts.test.ts',
  },
  {
    ...mutant(
      'a cluster client of node-redis that gives up between two nodes is not heard to do so',
      'src/stores/redis/redirection.ts',
      "if (kind === '') throw error",
      "if (kind === '' || !follow) throw error",
      'G7 a slot that each of two nodes',
    ),
    tests: 'test/faults/redis-node-redis-cluster.test.ts',
  },
  {
    ...mutant(
      'an ask is sent however long ago its caller was told that it failed',
      'src/stores/redis/deadline.ts',
      'return performance.now() >= this.#at',
      'return this.#at === -Infinity',
      'G5 an ask that could not be sent in time',
    ),
    tests: 'test/faults/redis-store-late.test.ts',
  },
  {
    ...mutant(
      'of a cluster, an ask for one node goes on after its caller was told that it failed',
      'src/stores/redis/parts.ts',
      'deadline.end()\n',
      '',
      'is not sent after the others were told of',
    ),
    tests: 'test/faults/redis-cluster-late.test.ts',
  },
  {
    ...mutant(
      'of a cluster, answers that came while the process stood still are not read in time',
      'src/stores/redis/parts.ts',
      'setTimeout(() => setImmediate(goOn), ',
      'setTimeout(goOn, ',
      'answers that came while the process stood still',
    ),
    tests: 'test/unit/redis-parts.test.ts',
  },
  {
    ...mutant(
      'a slot counts as on its way only when the client has given up',
      'src/stores/redis/parts.ts',
      'if (part.length > 1) this.#look(part, isSilent)',
      'if (part.length < 1) this.#look(part, isSilent)',
      'tells of one of them alone',
    ),
    tests: 'test/unit/redis-parts.test.ts',
  },
  {
    ...mutant(
      'with replicas, ioredis asks for what is on its way where it was before',
      'src/stores/redis/ioredis-cluster.ts',
      "kind === 'ASK' ?",
      "kind === 'ASKED' ?",
      'with `replicas`',
    ),
    tests: 'test/faults/redis-cluster-half-moved.test.ts',
  },
  {
    ...mutant(
      'a number that is named is not taken while a slot is on its way, nor for ten seconds after that',
      'src/stores/redis/store.ts',
      '{ ...one, rotate: false }',
      '{ ...one, rotate: false, raiseTo: 0 }',
      'a move between stores',
    ),
    tests: 'test/faults/redis-cluster-half-moved.test.ts',
  },
]
