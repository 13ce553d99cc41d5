import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { startRedis } from '../servers/redis.ts'
import { atLast } from '../support/stage.ts'

const LISTENER = fileURLToPath(new URL('fixtures/ioredis-listener.ts', import.meta.url))

const [server, cluster] = await Promise.all([startRedis(), startRedisCluster()])
atLast(() => Promise.all([server.stop(), cluster.stop()]))
const ports = { Redis: server.port, Cluster: cluster.nodes[0]?.port }

describe.each(['ioredis', 'ioredis-6', 'iovalkey'])('%s', (driver) => {
  describe.each(['Redis', 'Cluster'] as const)('%s', (kind) => {
    it.each(['closes', 'leaves'])('a process that listened and %s it ends by itself', async (manner) => {
      const args = [driver, kind, `${ports[kind]}`, manner]
      const child = fork(LISTENER, args, { execArgv: ['--import', import.meta.resolve('tsx')] })
      onTestFinished(() => void child.kill('SIGKILL'))
      const exited = once(child, 'exit')
      expect(await once(child, 'message')).toEqual(['listening', undefined])
      expect(await exited).toEqual([0, null])
    })
  })
})
