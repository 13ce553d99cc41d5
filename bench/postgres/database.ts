import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** Where `index.ts` has a server for all rounds. */
const SERVER = 'HOLDFAST_POSTGRES_URL'

/** Runs `work` with the URL of a new, empty database on a server that writes every commit to disk. */
export async function withDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = process.env[SERVER]
  if (!server) throw new Error(`${SERVER} is not set`)
  const name = `holdfast_bench_${randomBytes(6).toString('hex')}`
  await onServer(server, async (client) => {
    for (const setting of ['fsync', 'synchronous_commit']) {
      const [row] = (await client.query<{ value: string }>(`select current_setting('${setting}') as value`))
        .rows
      if (row?.value !== 'on') throw new Error(`${setting} is ${row?.value}: nobody's locks would be durable`)
    }
    await client.query(`create database ${name}`)
  })
  try {
    const url = new URL(server)
    url.pathname = name
    return await work(url.href)
  } finally {
    // Connections that just ended get their time; what a failed round left open does not matter.
    await onServer(server, (client) =>
      client.query(`drop database ${name}`).catch(() => client.query(`drop database ${name} with (force)`)),
    )
  }
}

/** Runs `work` on a connection of its own. */
export async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
