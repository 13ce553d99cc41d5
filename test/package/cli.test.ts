import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { run } from './command.ts'
import { NODE_VERSIONS } from './node-versions.ts'

const { bare, full, nodes } = inject('packed')

it('npx finds the program in the installed package', async () => {
  expect(await run('npx', ['--no-install', 'holdfast', '--help'], bare)).toMatch(/^usage: holdfast /)
})

describe.each([process.execPath, ...NODE_VERSIONS.map((version) => nodes[version])])('with %s', (node) => {
  const program = (project: string): string => join(project, 'node_modules', '.bin', 'holdfast')

  it('list looks into a store', async () => {
    const file = join(mkdtempSync(join(full, 'data-')), 'locks.db')
    const store = ['--store', `sqlite:${file}`]
    await run(node, [program(full), 'run', 'k', ...store, '--', node, '-e', '0'], full)
    expect(await run(node, [program(full), 'list', ...store], full)).toBe('no key is held\n')
  })

  it('a driver that is missing is one line that says what to install', async () => {
    const ended = await new Promise((resolve) => {
      execFile(
        node,
        [program(bare), 'list', '--store', 'redis://127.0.0.1:1'],
        { cwd: bare },
        (error, out, err) => resolve({ code: error?.code, out, err }),
      )
    })
    expect(ended).toEqual({
      code: 78,
      out: '',
      err: expect.stringMatching(/^holdfast: .*npm install ioredis.*\n$/),
    })
  })
})
