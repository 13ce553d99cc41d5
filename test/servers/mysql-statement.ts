import mysql from 'mysql2/promise'

/** One statement on a connection of its own. */
export async function mysqlStatement(url: string, statement: string): Promise<unknown> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 5000 })
  try {
    const [rows] = await connection.query(statement)
    return rows
  } finally {
    connection.destroy()
  }
}
