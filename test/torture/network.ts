import { type TcpProxy, tcpProxy } from '../servers/tcp-proxy.ts'
import type { Detours } from './worker/detour.ts'

/** A proxy for each worker and server port. A worker that takes the place of another has its proxies. */
export class Network {
  readonly #proxies: ReadonlyMap<number, ReadonlyMap<number, TcpProxy>>

  private constructor(proxies: ReadonlyMap<number, ReadonlyMap<number, TcpProxy>>) {
    this.#proxies = proxies
  }

  static async open(places: number, ports: readonly number[]): Promise<Network> {
    const proxies = new Map<number, Map<number, TcpProxy>>()
    for (let place = 1; place <= places; place += 1) {
      const own = new Map<number, TcpProxy>()
      for (const port of ports) own.set(port, await tcpProxy(port))
      proxies.set(place, own)
    }
    return new Network(proxies)
  }

  /** Of one place, or of all. */
  links(place?: number): TcpProxy[] {
    const places = place === undefined ? [...this.#proxies.keys()] : [place]
    return places.flatMap((one) => [...(this.#proxies.get(one)?.values() ?? [])])
  }

  detours(place: number): Detours {
    const own = this.#proxies.get(place) ?? new Map<number, TcpProxy>()
    return Object.fromEntries([...own].map(([port, proxy]) => [port, proxy.port]))
  }

  /**
   * What is done to the connections of a worker that has others does nothing. Not each link: who has found one node of a
   * set need not know all of them.
   */
  assertUsed(): void {
    for (const [place, links] of this.#proxies) {
      if (links.size === 0 || [...links.values()].some(({ joined }) => joined > 0)) continue
      throw new Error(
        `the worker in place ${place} never came by its proxies: no fault of its network was one`,
      )
    }
  }

  close(): void {
    for (const proxy of this.links()) proxy.close()
  }
}
