import pg from 'pg'

const CONNECT_LIMIT_MS = 5_000
const STATEMENT_LIMIT_MS = 40_000

/** Runs one statement on a connection of its own. */
export async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: STATEMENT_LIMIT_MS,
  })
  client.on('error', () => {}) // The statement fails with it too.
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end()
  }
}
