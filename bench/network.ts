import { tcpProxy } from '../test/servers/tcp-proxy.ts'

/** Runs `work` with an address of the same server to which each way takes so long. */
export async function overNetwork<T>(
  url: string,
  wayMs: number,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const network = new URL(url)
  const proxy = await tcpProxy(Number(network.port))
  network.port = String(proxy.port)
  proxy.delay(wayMs)
  try {
    return await work(network.href)
  } finally {
    proxy.close()
  }
}
