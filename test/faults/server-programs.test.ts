import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { programFolder, type Programs } from '../servers/programs.ts'

let root: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-programs-')))
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

function program(folder: string, name: string, script = ''): string {
  mkdirSync(join(root, folder), { recursive: true })
  const file = join(root, folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

function wanted(over: Partial<Programs> = {}): Programs {
  return {
    name: 'Example',
    files: ['example', 'example-tool'],
    folders: [join(root, 'lib/*/bin')],
    packages: ['example-server'],
    ...over,
  }
}

function machine(isRoot = false): { path: string; isRoot: boolean } {
  return { path: [join(root, 'path'), join(root, 'apt'), process.env['PATH']].join(':'), isRoot }
}

describe('programs of a server', () => {
  it('are found by PATH, all in the folder that a link there leads to', async () => {
    program('lib/9/bin', 'example')
    program('lib/9/bin', 'example-tool')
    program('elsewhere', 'example-tool')
    mkdirSync(join(root, 'path'))
    symlinkSync(program('elsewhere', 'example'), join(root, 'path/example'))
    expect(await programFolder(wanted(), machine())).toBe(join(root, 'elsewhere'))
  })

  it('are found in the newest version that has all of them', async () => {
    for (const version of ['9.6', '10', '16']) program(`lib/${version}/bin`, 'example')
    for (const version of ['9.6', '10']) program(`lib/${version}/bin`, 'example-tool')
    expect(await programFolder(wanted(), machine())).toBe(join(root, 'lib/10/bin'))
  })

  it('that are absent fail with what to do', async () => {
    const advice = 'set EXAMPLE_URL'
    await expect(
      programFolder(wanted({ advice }), { path: join(root, 'path'), isRoot: true }),
    ).rejects.toThrow(
      /Example was not found: example with example-tool is .* apt-get install example-server\), or set EXAMPLE_URL\. .* no apt-get/,
    )
    program('apt', 'apt-get', 'exit 1')
    await expect(programFolder(wanted(), machine())).rejects.toThrow(/only root may/)
  })
})

describe.runIf(process.platform === 'linux')('programs of a server, where apt-get may be run', () => {
  it('are installed, by one process at a time and with fresh lists only if need be', async () => {
    const folder = join(root, 'lib/15/bin')
    // Installs once it has lists, and breaks if it runs twice at the same time.
    program(
      'apt',
      'apt-get',
      `cd "${root}" && mkdir busy || { echo 'I run already' >&2; exit 1; }
       echo "$DEBIAN_FRONTEND $*" >>calls
       case "$*" in
         *update*) touch lists; code=0 ;;
         *) if [ -e lists ]; then
              mkdir -p "${folder}" && cp /bin/true "${folder}/example" && cp /bin/true "${folder}/example-tool"; code=0
            else code=100; fi ;;
       esac
       sleep 0.05; rmdir busy; exit $code`,
    )
    const found = await Promise.all([1, 2, 3].map(() => programFolder(wanted(), machine(true))))
    expect(found).toEqual([folder, folder, folder])
    const calls = readFileSync(join(root, 'calls'), 'utf8').trim().split('\n')
    expect(calls.filter((call) => call.includes('update'))).toHaveLength(1)
    expect(calls.at(-1)).toMatch(/^noninteractive .*-qy .*--no-install-recommends install example-server$/)
  })

  it('that cannot be installed fail with the output of apt-get', async () => {
    program('apt', 'apt-get', `echo "E: no network for $*" >&2; exit 100`)
    await expect(programFolder(wanted(), machine(true))).rejects.toThrow(
      /could not be installed:[^]*E: no network for .*update/,
    )
    program('apt', 'apt-get', 'exit 0')
    await expect(programFolder(wanted(), machine(true))).rejects.toThrow(/were installed, but do not have it/)
  })
})
