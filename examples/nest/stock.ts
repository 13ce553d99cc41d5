import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import Database from 'libsql'
import { type SqliteFence, fence, type Token } from '../../src/fence/index.ts'

export const FOLDER = 'FOLDER'

/** What is left of each article. A write by a holder of the lock that was overtaken is refused. */
@Injectable()
export class Stock implements OnApplicationShutdown {
  readonly #db: Database.Database
  readonly #guard: SqliteFence

  constructor(@Inject(FOLDER) folder: string) {
    this.#db = new Database(`${folder}/stock.db`, { timeout: 5_000 })
    this.#db.exec('create table if not exists stock (sku text primary key, remaining integer not null)')
    this.#guard = fence(this.#db)
  }

  left(sku: string): number {
    const row = this.#db.prepare('select remaining from stock where sku = ?').get(sku)
    return (row as { remaining: number } | undefined)?.remaining ?? 0
  }

  set(sku: string, remaining: number, token: Token): void {
    const upsert = 'insert into stock values (?, ?) on conflict do update set remaining = excluded.remaining'
    const write = this.#db.transaction(() => {
      this.#guard.checkSync(this.#db, `stock:${sku}`, token)
      this.#db.prepare(upsert).run(sku, remaining)
    })
    write.immediate()
  }

  onApplicationShutdown(): void {
    this.#db.close()
  }
}
