import { fileURLToPath } from 'node:url'
import type { Machine } from '../machine.ts'
import { inChild } from '../measure.ts'
import { WATCHED } from '../soak/servers.ts'
import { formatted } from '../summary.ts'
import { type Curve, CURVES, type Point, type Series, seriesOf, type Subject } from './curve.ts'
import { type Measured, record } from './record.ts'

const ROUND = fileURLToPath(new URL('./round.ts', import.meta.url))
/** So much that what is alive at once does not outgrow it. */
const ROOMY = ['--min-semi-space-size=256', '--max-semi-space-size=256']
const NONE = { url: '', stop: () => Promise.resolve() }

/** `npm run bench -- curves`: how the cost of a lock grows. Resolves to whether all is as stated. */
export async function curves(toRecord: boolean, machine: Machine): Promise<boolean> {
  const measured: Measured[] = []
  for (const curve of CURVES) {
    console.log(`\n${curve.title}`)
    const series: Series[] = []
    for (const store of Object.keys(curve.stores) as Subject[]) {
      const found = await follow(curve, store)
      series.push(found)
      console.log(`  ${store.padEnd(12)} ${shown(found)}`)
    }
    measured.push({ curve, series })
  }
  if (toRecord) record(measured, machine)
  return measured.every(({ series }) => series.every(({ agrees }) => agrees))
}

function shown({ points, growth, exponent, agrees }: Series): string {
  const costs = points.map(({ x, us }) => `${x.toLocaleString('en')}: ${formatted(us)} µs`).join('  ')
  return `${costs}  n^${exponent.toFixed(2)}, ${growth} ${agrees ? 'agrees' : 'DOES NOT AGREE'}`
}

/** A new server for each, since a curve may leave a million records behind. */
async function follow({ name, stores, xs }: Curve, store: Subject): Promise<Series> {
  const { growth } = stores[store] ?? { growth: 'O(1)' }
  const isRoomy = store === 'memory-roomy'
  const kind = isRoomy ? 'memory' : store
  const server = kind === 'memory' ? NONE : await WATCHED[kind]()
  try {
    const args = [name, kind, server.url, ...xs.map(String)]
    return seriesOf(store, growth, await inChild<Point[]>(ROUND, args, isRoomy ? ROOMY : []))
  } finally {
    await server.stop()
  }
}
