import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Network } from '../torture/network.ts'

let server: Server
let port: number
let network: Network

beforeEach(async () => {
  server = createServer((socket) => socket.on('error', () => {}).end())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})

afterEach(() => {
  network.close()
  server.close()
})

async function connectBy(by: number | undefined): Promise<void> {
  const socket = connect(by ?? 0, '127.0.0.1')
  await once(socket.resume(), 'close')
}

it('a worker that goes past its proxies is found: no fault of its network is one', async () => {
  network = await Network.open(2, [port])
  await connectBy(network.detours(1)[port])
  await connectBy(port)
  expect(() => network.assertUsed()).toThrow(/the worker in place 2 never came by its proxies/)
  await connectBy(network.detours(2)[port])
  network.assertUsed()
})

it('a worker of a store without a network has no proxies to come by', async () => {
  network = await Network.open(2, [])
  network.assertUsed()
})
