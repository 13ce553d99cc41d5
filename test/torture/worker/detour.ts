import { Socket } from 'node:net'

/** For each port of a server, the port of the proxy that leads there. */
export type Detours = Readonly<Record<number, number>>

type Connect = (this: Socket, ...args: unknown[]) => Socket

/**
 * From now on every connection of this process to one of these ports of this machine goes to its proxy. Below all
 * drivers: so it is also true for the nodes of a set or a cluster, which tell their own addresses.
 */
export function detour(detours: Detours): void {
  const target = Socket.prototype as unknown as { connect: Connect }
  const { connect } = target
  target.connect = function (...args) {
    const [first, ...rest] = args
    // What `net.connect` has made of its own arguments.
    if (Array.isArray(first)) first[0] = around(first[0], detours)
    else if (typeof first === 'object' && first !== null) args[0] = around(first, detours)
    else if (typeof first === 'number' || /^\d+$/.test(String(first)))
      return connect.call(this, detours[Number(first)] ?? first, ...rest)
    return connect.apply(this, args)
  }
}

function around(options: unknown, detours: Detours): unknown {
  const { port } = options as { port?: number | string }
  const by = port === undefined ? undefined : detours[Number(port)]
  return by === undefined ? options : { ...(options as object), port: by }
}
