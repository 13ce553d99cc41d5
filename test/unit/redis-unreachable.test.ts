import { expect, it } from 'vitest'
import { asLockError } from '../../src/stores/redis/failures.ts'
import { unreachable } from '../../src/stores/redis/opened.ts'

it('a server that does not take the connection is one advice, without saying anything twice', () => {
  expect(asLockError(unreachable(false)).message).toBe(
    'the redis store failed: the server cannot be reached; check host, port and firewall ' +
      '(no connection within 2500 ms (ETIMEDOUT))',
  )
  expect(asLockError(unreachable(true)).message).toContain('check also that the server speaks TLS there')
})

it.each([
  '',
  'Too many Cluster redirections. Last error: ReplyError: ',
  'too many redirections. Last error: Error: ',
])("a cluster that is down is told as that, also when it was tried again: '%s'", (before) => {
  const refusal = new Error(`${before}CLUSTERDOWN Hash slot not served`)
  expect(asLockError(refusal).message).toContain('the cluster does not serve all slots')
})
