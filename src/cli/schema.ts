import type { StoreSettings } from '../config/settings.ts'
import { tryParse } from './arguments.ts'
import { type Command, type Invocation, UsageError } from './command.ts'
import { EXIT } from './failure.ts'

interface Place {
  readonly schema?: string
  readonly table?: string
}

const KINDS: Readonly<Record<string, (place: Place) => Promise<string>>> = {
  postgres: async (place) => (await import('../stores/postgres/index.ts')).postgresSql(place),
  mysql: async ({ schema, ...place }) =>
    (await import('../stores/mysql/index.ts')).mysqlSchema({
      ...place,
      ...(schema === undefined ? {} : { database: schema }),
    }),
  'fence-postgres': async (place) =>
    (await import('../fence/index.ts')).fenceSql({ ...place, dialect: 'postgres' }),
  'fence-mysql': async (place) =>
    (await import('../fence/index.ts')).fenceSql({ ...place, dialect: 'mysql' }),
  'fence-sqlite': async (place) =>
    (await import('../fence/index.ts')).fenceSql({ ...place, dialect: 'sqlite' }),
}

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'print the SQL that creates the tables',
  help: `usage: holdfast schema [NAME] [--schema NAME] [--table NAME]

Prints SQL for a migration, or for the one who may create tables. It connects to nothing.

  postgres, mysql the table of the locks, for a store with create: false
  fence-postgres  the table of the guard that checks fencing tokens in PostgreSQL
  fence-mysql     the same in MySQL or MariaDB
  fence-sqlite    the same in SQLite
  --schema NAME   the schema, for PostgreSQL; for MySQL the database
  --table NAME    the table

Without a name: the table of the store that is configured, with the schema and table that are
configured for it.
`,
  async run(invocation) {
    const { values, positionals } = tryParse(invocation.args, {
      schema: { type: 'string' },
      table: { type: 'string' },
    })
    const { out, err } = invocation.terminal
    const [named, ...others] = positionals
    if (others.length > 0) throw new UsageError('give one name')
    const configured = named === undefined ? await configuredPlace(invocation) : { name: named, place: {} }
    if (configured === null) {
      err.write('holdfast: this store needs no SQL: it makes what it needs when it is first used\n')
      return EXIT.no
    }
    const { name, place } = configured
    const sql = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
    if (!sql && /^(redis|valkey|mongo(db)?|sqlite|memory)$/.test(name))
      throw new UsageError(`${name} needs no SQL: the store makes what it needs when it is first used`)
    if (!sql) throw new UsageError(`'${name}' is unknown, give one of ${Object.keys(KINDS).join(', ')}`)
    out.write(`${(await sql({ ...place, ...values })).trimEnd()}\n`)
    return 0
  },
}

/** Null: no SQL is needed for it. */
async function configuredPlace({
  storeSettings,
}: Invocation): Promise<{ readonly name: string; readonly place: Place } | null> {
  const { url = '', schema, database, table }: Partial<StoreSettings> = (await storeSettings?.()) ?? {}
  const isMysql = /^(mysql|mariadb):/i.test(url)
  if (!isMysql && !/^postgres(ql)?:/i.test(url)) return null
  const space = isMysql ? database : schema
  return {
    name: isMysql ? 'mysql' : 'postgres',
    place: { ...(space === undefined ? {} : { schema: space }), ...(table === undefined ? {} : { table }) },
  }
}
