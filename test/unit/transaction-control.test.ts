import { describe, expect, it } from 'vitest'
import { controlIn } from '../../src/transaction/control.ts'

describe('a statement of the function', () => {
  it.each([
    ['begin', 'BEGIN'],
    ['BEGIN isolation level serializable', 'BEGIN'],
    ['start  transaction read only', 'START TRANSACTION'],
    ['commit', 'COMMIT'],
    ['  \n;; Commit;', 'COMMIT'],
    ['end', 'END'],
    ['abort work', 'ABORT'],
    ['rollback', 'ROLLBACK'],
    ['rollback and chain', 'ROLLBACK'],
    ['/* a ** b */ -- c\n rollback;', 'ROLLBACK'],
    ["prepare transaction 'x'", 'PREPARE TRANSACTION'],
  ])('%j begins or ends a transaction', (text, word) => {
    expect(controlIn(text)).toBe(word)
  })

  it.each([
    'savepoint a',
    'release a',
    'release savepoint a',
    'rollback to a',
    'ROLLBACK  TO SAVEPOINT a',
    'rollback work to a',
    'rollback transaction to savepoint a',
    'prepare plan as select 1',
    "insert into t values ('; commit')",
    'select 1 as commit',
    'begin_work()',
    'endpoint',
    '-- commit',
    '',
    undefined,
    null,
    7,
  ])('%j does not', (text) => {
    expect(controlIn(text)).toBeNull()
  })

  it('is looked at in no time, whatever it is', () => {
    const start = performance.now()
    for (const part of ['/* a */', '/*', '-- a\n', '--', ' ', ';', '/* -- */ '])
      controlIn(`${part.repeat(50_000)}x`)
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
