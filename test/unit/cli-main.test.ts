import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { exitCodeOf, explain } from '../../src/cli/failure.ts'
import { LOCK_ERROR_CODES, LockError } from '../../src/errors.ts'
import { createLocks } from '../../src/locks.ts'
import { holdfast } from './support/cli-stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const url = `sqlite:${join(folder, 'locks.db')}`
const COMMANDS = [
  'run',
  'elect',
  'list',
  'inspect',
  'release',
  'doctor',
  'bench',
  'schema',
  'completion',
  'help',
]

describe('help', () => {
  it('is printed by --help, -h and help, with every command in it', async () => {
    const { code, out } = await holdfast(['--help'])
    expect(code).toBe(0)
    for (const name of COMMANDS) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'))
    for (const args of [['-h'], ['help']]) expect(await holdfast(args)).toEqual({ code: 0, out, err: '' })
  })

  it.each(COMMANDS)('of %s is the same in all three ways, and opens nothing', async (name) => {
    const { code, out } = await holdfast(['help', name])
    expect([code, out.startsWith(`usage: holdfast ${name}`)]).toEqual([0, true])
    expect(await holdfast([name, '--help'])).toEqual({ code: 0, out, err: '' })
    expect(await holdfast([name, '-h', '--', '--x'])).toEqual({ code: 0, out, err: '' })
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(110)
  })

  it('--version prints the version of the package', async () => {
    expect((await holdfast(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('a wrong call is one line on stderr and exit code 64', () => {
  it.each([
    [[], 'give a command; see holdfast --help'],
    [['lst'], "the command 'lst' is unknown; see holdfast --help"],
    [['help', 'lst'], "the command 'lst' is unknown; see holdfast help --help"],
    [['--nope'], "the option '--nope' is unknown; see holdfast --help"],
    [['a\u{1b}[2J\n'], "the command 'a\\e[2J\\n' is unknown; see holdfast --help"],
    [['list', '--nope'], "unknown option '--nope'; see holdfast list --help"],
    [['list', 'extra'], "one argument too many: 'extra'; see holdfast list --help"],
    [['list', '--prefix'], "option '--prefix <value>' argument missing; see holdfast list --help"],
    [['list', '--store'], '--store: give a URL; see holdfast --help'],
    [['inspect', '--store', '--', 'x'], '--store: give a URL; see holdfast --help'],
    [['bench', '--seconds', '0'], '--seconds: give a whole number from 1 to 60; see holdfast bench --help'],
    [['bench', '--tasks', '1e3'], '--tasks: give a whole number from 1 to 1000; see holdfast bench --help'],
    [
      ['completion', 'tcsh'],
      "the shell 'tcsh' is unknown, give bash, zsh or fish; see holdfast completion --help",
    ],
    [['schema', 'constructor'], expect.stringContaining("'constructor' is unknown, give one of postgres,")],
  ])('%j', async (args, message) => {
    const { code, out, err } = await holdfast(args, { HOLDFAST_STORE: 'memory:' })
    expect([code, out]).toEqual([64, ''])
    expect(err.replace(/^holdfast: /, '').trimEnd()).toEqual(message)
    expect(err.split('\n')).toHaveLength(2)
  })

  it('as is a key that cannot be one', async () => {
    expect(await holdfast(['inspect', 'a\nb'], { HOLDFAST_STORE: 'memory:' })).toMatchObject({
      code: 64,
      err: expect.stringContaining('control character'),
    })
  })
})

describe('the store', () => {
  it.each(['run', 'elect'])('of %s is not memory:, which excludes nobody', async (command) => {
    for (const store of ['memory:', 'MEMORY:']) {
      const { code, err } = await holdfast([command, 'key', '--', 'true'], { HOLDFAST_STORE: store })
      expect([code, err]).toEqual([78, expect.stringMatching(/memory: excludes nobody .* such as sqlite:/)])
    }
  })

  it('is named by what gave it', async () => {
    const argument = await holdfast(['list', '--store', 'bogus://x'])
    expect([argument.code, argument.err]).toEqual([
      78,
      expect.stringMatching(/: --store: it must begin with one of memory:, sqlite:/),
    ])
    const variable = await holdfast(['list'], { HOLDFAST_STORE: 'bogus://x' })
    expect([variable.code, variable.err]).toEqual([
      78,
      expect.stringMatching(/: HOLDFAST_STORE: it must begin with one of memory:/),
    ])
    expect(argument.err + variable.err).not.toContain('store object')
  })

  it('that a server is asked for takes no user and password', async () => {
    const { code, err } = await holdfast(['stats', '--url', 'http://user:secret@127.0.0.1:1/'])
    expect([code, err]).toEqual([64, expect.stringContaining('set HOLDFAST_SERVER_TOKEN')])
    expect(err).not.toContain('secret')
  })

  it('is that of --store, before or after the name of the command, rather than of HOLDFAST_STORE', async () => {
    const locks = createLocks(url, { logger: null })
    const lease = await locks.acquire('held')
    try {
      for (const args of [
        ['--store', url, 'inspect', 'held'],
        ['inspect', 'held', '--store', url],
        ['inspect', `--store=${url}`, '--', 'held'],
      ])
        expect(await holdfast(args, { HOLDFAST_STORE: 'memory:' })).toMatchObject({ code: 0 })
      expect(await holdfast(['inspect', 'held'], { HOLDFAST_STORE: url })).toMatchObject({ code: 0 })
      expect(await holdfast(['inspect', 'held'], { HOLDFAST_STORE: 'memory:' })).toMatchObject({ code: 1 })
    } finally {
      await lease.release()
      await locks.close()
    }
  })

  it('is not what stands behind --', async () => {
    expect(await holdfast(['inspect', '--', '--store'], { HOLDFAST_STORE: 'memory:' })).toEqual({
      code: 1,
      out: '--store is held by nobody\n',
      err: '',
    })
  })

  it('may come from a file', async () => {
    const file = join(folder, 'locks.json')
    writeFileSync(file, JSON.stringify({ store: { url: 'postgres://host/app', schema: 'infra' } }))
    const { out } = await holdfast(['schema'], { HOLDFAST_CONFIG: file })
    expect(out).toContain('"infra"."holdfast_locks"')
  })

  it('that nobody has named, or that is misnamed, is exit code 78', async () => {
    expect(await holdfast(['list'], {})).toMatchObject({
      code: 78,
      err: expect.stringContaining('HOLDFAST_STORE'),
    })
    expect(await holdfast(['list', '--store', 'ftp://me:secret@host'], {})).toMatchObject({
      code: 78,
      err: expect.not.stringContaining('secret'),
    })
  })

  it.each([['list'], ['inspect', 'k'], ['stats'], ['release', 'k', '--force']])(
    'that is a SQLite file that is not there is exit code 69 to %s, and is not created',
    async (...args) => {
      const file = join(folder, 'mistyped.db')
      for (const name of [`sqlite:${file}`, `SQLITE:file:${file}`]) {
        const { code, out, err } = await holdfast([...args, '--store', name])
        expect([code, out, err]).toEqual([69, '', expect.stringContaining(`${file}: there is no such file`)])
      }
      expect(existsSync(file)).toBe(false)
    },
  )

  it('that is a SQLite file in a place that cannot be is told by the store', async () => {
    writeFileSync(join(folder, 'file'), '')
    const { code, err } = await holdfast(['list', '--store', `sqlite:${join(folder, 'file', 'locks.db')}`])
    expect([code, err]).toEqual([69, expect.not.stringContaining('no such file; check the path')])
    expect(err).toMatch(/locks\.db/)
  })

  it('that is down is exit code 69, without the password', async () => {
    const { code, out, err } = await holdfast(['list', '--store', 'redis://me:hunt%65r2@127.0.0.1:1'])
    expect([code, out]).toEqual([69, ''])
    expect(err).toMatch(/^holdfast: the redis store failed: .*ECONNREFUSED.*\n$/)
    expect(err).not.toMatch(/hunter2|hunt%65r2/)
    // Whatever a driver says from now on.
    expect(explain(new Error('AUTH hunter2, hunt%65r2 at redis://a:other@host/0 failed'))).toBe(
      'AUTH …, … at redis://…@host/0 failed',
    )
  })
})

describe('an error', () => {
  it('of each code has an exit code that is not 0', () => {
    for (const code of LOCK_ERROR_CODES) expect(exitCodeOf(new LockError(code, ''))).toBeGreaterThan(0)
    expect(exitCodeOf(null)).toBe(70)
  })

  it('is told with its causes on one line, each once', () => {
    const inner = new Error('refused\n  by the host')
    const error = new Error('the store failed', { cause: new Error('cannot: refused', { cause: inner }) })
    expect(explain(error)).toBe('the store failed: cannot: refused: refused by the host')
    expect(explain(new AggregateError([new Error('a'), new Error('a'), new Error('b')]))).toBe('a, b')
    expect(explain(new Error('x', { cause: new Error('x') }))).toBe('x')
  })

  it('that is its own cause ends', () => {
    const error = new Error('round')
    error.cause = error
    expect(explain(error)).toBe('round')
  })
})

describe('schema', () => {
  it.each([
    [['postgres', '--schema', 'infra', '--table', 'l'], '"infra"."l"'],
    [['fence-postgres'], 'holdfast_fence'],
    [['fence-sqlite', '--table', 'mine'], 'mine'],
  ])('%j prints SQL and needs no store', async (args, expected) => {
    const { code, out } = await holdfast(['schema', ...args])
    expect([code, out]).toEqual([0, expect.stringContaining(expected)])
    expect(out).toMatch(/;\n$/)
  })

  it('says that other stores need none', async () => {
    expect(await holdfast(['schema', '--store', 'redis://host'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('needs no SQL'),
    })
    expect(await holdfast(['schema', 'redis'])).toMatchObject({ code: 64 })
  })

  it('takes no name that would end up as SQL', async () => {
    const { code, out } = await holdfast(['schema', 'postgres', '--table', 'a"; drop table b; --'])
    expect([code, out]).toEqual([64, ''])
  })
})

describe('completion', () => {
  const complete = (script: string, ...words: string[]): string[] => {
    const program = `${script}
compopt() { :; }
COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', program, 'bash', ...words], { encoding: 'utf8' })
      .trim()
      .split('\n')
  }

  it('in bash knows commands, their options, and what follows --store', async () => {
    const { out } = await holdfast(['completion', 'bash'])
    expect(complete(out, 'in')).toEqual(['inspect'])
    expect(complete(out, '--store', 'list', 'be')).toEqual(['bench'])
    expect(complete(out, 'list', '--')).toEqual(['--prefix', '--json', '--watch', '--store', '--help'])
    expect(complete(out, 'completion', '')).toContain('fish')
    expect(complete(out, 'run', 'key', '--', 'l')).toEqual([''])
  })

  it.each(['zsh', 'fish'])('for %s names every command', async (shell) => {
    const { out } = await holdfast(['completion', shell])
    for (const name of COMMANDS) expect(out).toContain(name)
  })
})
