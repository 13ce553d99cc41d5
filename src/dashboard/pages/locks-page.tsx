import { useComputed } from '@preact/signals'
import type { JSX } from 'preact'
import { now } from '../clock.ts'
import { Empty } from '../empty.tsx'
import { shownKey, visible } from '../format.ts'
import { connection, storeWord, table, version } from '../live.ts'
import { type Column, COLUMNS, type Row, type View } from '../lock-table.ts'
import { counted, dateTime, plain, t, ticking } from '../preferences.ts'
import { Remaining, Wanted } from '../remaining.tsx'
import { hrefOf, type Route } from '../route.ts'
import { route, setQuery } from '../router.ts'
import { Search } from '../search.tsx'
import { VirtualTable } from '../virtual-table.tsx'

const NO_FILTER = { q: '', service: '', wanted: '' }

export function LocksPage({ query }: { query: Route['query'] }): JSX.Element {
  const rows = useComputed(() => {
    void version.value
    return table.view(viewOf(route.value.query))
  }).value
  const view = viewOf(query)
  const all = version.value > 0 ? table.size : 0
  const count =
    rows.length === all
      ? t('locks.count', { n: counted(all) })
      : t('locks.countOf', { n: counted(rows.length), all: counted(all) })
  return (
    <div class="page fill">
      <div class="bar-top">
        <h1 tabIndex={-1}>{t('page.locks')}</h1>
        <Search
          value={view.search}
          label={t('locks.search')}
          hint={t('locks.searchHint')}
          onInput={(q) => setQuery({ q })}
        />
        <ServiceChoice chosen={view.service} />
        <label class="check">
          <input
            type="checkbox"
            checked={view.wanted}
            onChange={(event) => setQuery({ wanted: event.currentTarget.checked ? '1' : '' })}
          />
          {t('locks.onlyWanted')}
        </label>
        {version.value > 0 && <span class="count">{count}</span>}
      </div>
      {rows.length > 0 ? (
        <VirtualTable
          class="locks"
          label={t('locks.table')}
          rows={rows}
          idOf={({ lock }) => lock.key}
          head={COLUMNS.map((column) => (
            <SortHead key={column} column={column} view={view} />
          ))}
          cells={(row) => <Cells row={row} />}
        />
      ) : (
        <NoRows all={all} />
      )}
    </div>
  )
}

function viewOf({ q = '', service = '', wanted = '', sort = '', desc = '' }: Route['query']): View {
  return {
    search: q,
    service,
    wanted: wanted === '1',
    sort: COLUMNS.find((column) => column === sort) ?? 'key',
    descending: desc === '1',
  }
}

function NoRows({ all }: { all: number }): JSX.Element {
  if (version.value === 0) {
    const why = storeWord.value?.error ?? (connection.value.state === 'waiting' ? t('error.network') : null)
    if (why === null) return <Empty>{t('locks.loading')}</Empty>
    return <Empty title={t('locks.unknownTitle')}>{plain(why)}</Empty>
  }
  if (all === 0) return <Empty title={t('locks.noneTitle')}>{t('locks.none')}</Empty>
  return (
    <Empty title={t('locks.noMatchTitle')}>
      <p>{t('locks.noMatch')}</p>
      <button type="button" onClick={() => setQuery(NO_FILTER)}>
        {t('locks.clear')}
      </button>
    </Empty>
  )
}

function ServiceChoice({ chosen }: { chosen: string }): JSX.Element {
  void version.value
  const services = table.services()
  // A service of an address that holds nothing now stays chosen.
  if (chosen !== '' && !services.some(([name]) => name === chosen)) services.push([chosen, 0])
  return (
    <select
      aria-label={t('locks.service')}
      value={chosen}
      onChange={(event) => setQuery({ service: event.currentTarget.value })}
    >
      <option value="">{t('locks.allServices')}</option>
      {services.map(([name, held]) => (
        <option key={name} value={name}>
          {plain(name, 40)} ({counted(held)})
        </option>
      ))}
    </select>
  )
}

function SortHead({ column, view }: { column: Column; view: View }): JSX.Element {
  const current = view.sort === column
  const name = t(`column.${column}`)
  const sort = (): void =>
    setQuery({ sort: column === 'key' ? '' : column, desc: current && !view.descending ? '1' : '' })
  return (
    <th
      scope="col"
      class={`c-${column}`}
      aria-sort={current ? (view.descending ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" onClick={sort} title={t('column.sortBy', { column: name })}>
        {name}
        <span class="arrow" aria-hidden="true">
          {current ? (view.descending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  )
}

function Cells({ row }: { row: Row }): JSX.Element {
  const { key, service, instance, context, token, wanted, leaseMs, since } = row.lock
  return (
    <>
      <td class="c-key">
        <a href={hrefOf('lock', { key })} title={visible(key)}>
          <bdi>{shownKey(key)}</bdi>
        </a>
      </td>
      <td class="c-service" title={plain(service)}>
        <bdi>{plain(service, 60)}</bdi>
      </td>
      <td class="c-instance" title={plain(instance)}>
        <bdi>{plain(instance, 60)}</bdi>
      </td>
      <td class="c-context" title={plain(context ?? '')}>
        <bdi>{plain(context ?? '', 120)}</bdi>
      </td>
      <td class="c-held number" title={dateTime(since)}>
        {ticking(now.value - row.takenAt)}
      </td>
      <td class="c-remaining">
        <Remaining endsAt={row.endsAt} leaseMs={leaseMs} />
      </td>
      <td class="c-token number">{token}</td>
      <td class="c-wanted">
        <Wanted wanted={wanted} />
      </td>
    </>
  )
}
