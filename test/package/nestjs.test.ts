import { expect, inject, it } from 'vitest'
import { run } from './command.ts'

const { nest } = inject('packed')

it('works with the oldest NestJS that the package names', async () => {
  const printed = await run(process.execPath, ['nest.js'], nest)
  expect(JSON.parse(printed)).toEqual({ most: 1, code: 'CLOSED' })
})
