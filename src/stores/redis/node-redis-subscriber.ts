import type { Hear, NodeRedis } from '../../databases/node-redis.ts'
import type { Subscriber, SubscriberEvents } from './subscriptions.ts'
import { WIRE_LIMIT_MS, WireSubscriber } from './wire.ts'

/** A copy of the user's client, for one connection that only listens. Another one is made when it is lost. */
const OVERRIDES = {
  // It has been read: what it says is in the other options.
  url: undefined,
  database: 0,
  commandOptions: undefined,
  commandsQueueMaxLength: undefined,
  disableOfflineQueue: false,
  // Its timer would keep the process alive.
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: false,
  maintNotifications: 'disabled',
}

/** `sharded` for a cluster, where the messages of a channel go to the node that has its slot. */
export function nodeRedisSubscriber(
  client: NodeRedis,
  sharded: boolean,
  events: SubscriberEvents,
): Subscriber {
  return new WireSubscriber((end) => {
    const socket = { ...client.options?.socket, connectTimeout: WIRE_LIMIT_MS, socketTimeout: undefined }
    const redis = client.duplicate({ ...OVERRIDES, socket: { ...socket, reconnectStrategy: false } })
    const hear: Hear = (message, channel) => events.heard(channel, message)
    let connected = false
    let destroyed = false
    const destroy = (): void => {
      try {
        redis.destroy()
      } catch {
        // Not open any more.
      }
    }
    redis.on('error', end)
    redis.on('end', end)
    // The server ended a subscription, as it does when a slot leaves. Sent while a command waits for its answer, node-redis
    // takes it for that answer: so none of the others is to be relied on either.
    redis.on('sharded-channel-moved', end)
    redis.on('connect', () => {
      connected = true
      if (destroyed) destroy()
    })
    redis.unref()
    return {
      connect: () => redis.connect(),
      subscribe: (channel) => (sharded ? redis.sSubscribe(channel, hear) : redis.subscribe(channel, hear)),
      unsubscribe: (channel) =>
        sharded ? redis.sUnsubscribe(channel, hear) : redis.unsubscribe(channel, hear),
      ping: () => redis.sendCommand(['PING']),
      destroy: () => {
        destroyed = true
        // Before there is a connection, version 5 would go on to open it and could not close it any more.
        if (connected) destroy()
      },
    }
  }, events)
}
