import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { HISTOGRAMS, NUMBERS } from '../../src/monitor/instruments.ts'
import { busy } from './support/busy.ts'

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

interface Dashboard {
  readonly panels: readonly {
    id: number
    title: string
    type: string
    targets?: readonly { expr: string }[]
  }[]
  readonly templating: { readonly list: readonly { name: string; type: string; definition?: string }[] }
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { alert: string; expr: string; annotations: object }[]
  }[]
}

const dashboard = JSON.parse(read('grafana/holdfast.json')) as Dashboard
const { groups } = parseYaml(read('grafana/alerts.yaml')) as Rules
const expressions = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
]

/** Each name with the values of each of its labels. */
async function exported(): Promise<Map<string, Map<string, Set<string>>>> {
  const { sdk, locks } = await busy()
  const names = new Map<string, Map<string, Set<string>>>()
  for (const series of (await sdk.values()).keys()) {
    const [, name = '', labels = ''] = /^(\w+)\{(.*)\}$/.exec(series) ?? []
    const known = names.get(name) ?? new Map<string, Set<string>>()
    names.set(name, known)
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
      known.set(label, (known.get(label) ?? new Set()).add(value))
  }
  await locks.close()
  return names
}

/** What an expression selects: the names, and the matchers of each. */
function selectorsOf(
  expr: string,
): { name: string; matchers: [label: string, operator: string, value: string][] }[] {
  return [...expr.matchAll(/(holdfast_\w+)?(?:\{([^}]*)\})|(holdfast_\w+)/g)].flatMap(
    ([, name, inner = '', bare]) => {
      const matchers = [...inner.matchAll(/(\w+)(=~|!=|!~|=)"([^"]*)"/g)].map(
        ([, label = '', operator = '', value = '']): [string, string, string] => [label, operator, value],
      )
      const byName = matchers.find(([label]) => label === '__name__')?.[2]
      // The collector's name, and that of the exporter, which is the one to look for.
      const selected = name ?? bare ?? byName?.replace('(_seconds)?', '')
      if (selected === undefined || selected.includes('(')) return []
      return [{ name: selected, matchers: matchers.filter(([label]) => label !== '__name__') }]
    },
  )
}

/** What an expression selects that is not exported. */
function strange(
  expr: string,
  names: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>,
): string[] {
  const selectors = selectorsOf(expr)
  const wrong = selectors.length === 0 ? ['nothing selected'] : []
  for (const { name, matchers } of selectors) {
    const labels = names.get(name)
    if (!labels) wrong.push(name)
    for (const [label, operator, value] of labels ? matchers : []) {
      const values = labels!.get(label)
      if (!values) wrong.push(label)
      const wanted = operator.includes('~') ? value.split('|') : [value]
      for (const one of values && !value.startsWith('$') ? wanted : [])
        if (!values!.has(one)) wrong.push(`${label}="${one}"`)
    }
  }
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '))
  const known = (label: string): boolean => selectors.some(({ name }) => names.get(name)?.has(label))
  return [...wrong, ...grouped.filter((label) => !known(label)).map((label) => `by ${label}`)]
}

describe('docs/metrics.md', () => {
  it('lists every instrument as it is, in order, and no other', () => {
    const rows = read('metrics.md')
      .split('\n')
      .filter((line) => line.startsWith('| `holdfast.'))
    const expected = [...NUMBERS, ...HISTOGRAMS].map(
      ({ name, prometheus, kind, unit, attributes, description }) =>
        `| \`${name}\` | \`${prometheus}\` | ${kind} | \`${unit}\` | ${attributes.map((a) => `\`${a}\``).join(', ')} | ${description} |`,
    )
    expect(rows).toEqual(expected)
  })
})

describe('the dashboard of Grafana and the rules of Prometheus', () => {
  it('select only names, labels and values that are exported', async () => {
    const names = await exported()
    const wrong = expressions.flatMap((expr) => strange(expr, names).map((what) => `${what} in ${expr}`))
    expect(wrong).toEqual([])
    // The check sees what is wrong.
    const bad = 'sum by (kind) (rate(holdfast_holds_total{end="gone",stores="a"}[5m])) / holdfast_held'
    expect(strange(bad, names)).toEqual(['end="gone"', 'stores', 'holdfast_held', 'by kind'])
  })

  it('show every instrument somewhere', () => {
    const used = new Set(expressions.flatMap(selectorsOf).map(({ name }) => name.replace(/_bucket$/, '')))
    expect([...used].sort()).toEqual([...NUMBERS, ...HISTOGRAMS].map(({ prometheus }) => prometheus).sort())
  })

  it('can be imported: panels with ids and titles of their own, and a variable for the data source', () => {
    const { panels, templating } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
    expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['store', 'query'],
      ['service', 'query'],
    ])
    for (const { definition } of templating.list.slice(1))
      expect(definition).toMatch(/^label_values\(holdfast_requests_total, (store|service)\)$/)
    expect(JSON.stringify(panels.filter(({ type }) => type !== 'row'))).not.toMatch(
      /"uid":"(?!\$\{datasource\})/,
    )
  })

  it('have brackets that fit, and only variables that there are', () => {
    for (const expr of expressions) {
      for (const [open, close] of ['()', '{}', '[]'])
        expect(expr.split(open!).length).toBe(expr.split(close!).length)
      for (const [, name] of expr.matchAll(/\$(\w+)/g))
        expect(['store', 'service', '__rate_interval', '1']).toContain(name)
    }
    const rules = groups.flatMap((group) => group.rules)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    for (const { alert, annotations } of rules) {
      expect(alert).toMatch(/^Holdfast[A-Z]\w+$/)
      expect(Object.keys(annotations)).toEqual(['summary', 'description'])
    }
  })
})
