// Opens a SQLite store with the driver named. The suite's child processes import this module too.
import { sqliteStore } from 'holdfast/sqlite'

export default async function openStore({ driver, file }) {
  if (driver === 'path') return sqliteStore(file)
  const module = await import(driver)
  const Database = module.DatabaseSync ?? module.default
  return sqliteStore(new Database(file))
}
