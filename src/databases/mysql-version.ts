/** What a server can do, by the version that it tells. */
export interface MysqlDialect {
  readonly mariadb: boolean
  /** Whether an upsert can return its rows, as MariaDB does since 10.5. */
  readonly returning: boolean
}

/** `10.11.6-MariaDB-0+deb12u1`, `10.6.12-8-MariaDB-enterprise`, also with `5.5.5-` in front; anything else is MySQL. */
export function dialectOf(version: string): MysqlDialect {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)\.\d+(?:-\d+)?-MariaDB/i.exec(version) ?? []
  const number = Number(major) * 1000 + Number(minor)
  return { mariadb: number > 0, returning: number >= 10_005 }
}
