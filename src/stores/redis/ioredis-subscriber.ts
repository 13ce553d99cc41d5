import type { Ioredis } from '../../databases/ioredis.ts'
import type { Subscriber, SubscriberEvents } from './subscriptions.ts'
import { WireSubscriber } from './wire.ts'

/** A copy of the user's client, for one connection that only listens. Another one is made when it is lost. */
const OVERRIDES = {
  keyPrefix: '',
  db: 0,
  lazyConnect: true,
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined,
  reconnectOnError: null,
  retryStrategy: null,
  sentinelRetryStrategy: null,
  // It would keep connections to the sentinels, which keep the process alive.
  failoverDetector: false,
}

/** `sharded` for a cluster, where the messages of a channel go to the node that has its slot. */
export function ioredisSubscriber(client: Ioredis, sharded: boolean, events: SubscriberEvents): Subscriber {
  return new WireSubscriber((end) => {
    const redis = client.duplicate(OVERRIDES)
    // Also how ioredis 5 takes it that the server ends a subscription, as it does when a slot leaves.
    redis.on('error', end)
    // How ioredis 6 takes it, and how 5 takes a -MOVED: without saying of which channel.
    redis.on('moved', end)
    redis.on('end', end)
    redis.on('connect', () => redis.stream?.unref?.())
    redis.on(sharded ? 'smessage' : 'message', (channel, message) => {
      events.heard(String(channel), String(message))
    })
    return {
      connect: () => redis.connect(),
      subscribe: (channel) => (sharded ? redis.ssubscribe(channel) : redis.subscribe(channel)),
      unsubscribe: (channel) => (sharded ? redis.sunsubscribe(channel) : redis.unsubscribe(channel)),
      ping: () => redis.ping(),
      destroy: () => {
        // It would start a timer in vain.
        if (redis.status !== 'end') redis.disconnect()
        // Without the time that a server has to say good-bye.
        redis.stream?.destroy()
      },
    }
  }, events)
}
