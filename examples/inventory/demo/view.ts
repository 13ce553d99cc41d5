import { conflictsBetween } from '../report.ts'
import type { Piece, Tone } from './piece.ts'
import type { Snapshot } from './shop.ts'

/** The shop as a few lines of text. */
export function view(now: Snapshot, perSecond: number): Piece[][] {
  const { accounts, holders, instances, stats } = now
  return [
    [
      faint(
        `${'commodity'.padEnd(12)}${'stock'.padStart(8)}${'sold'.padStart(8)}${'sum'.padStart(9)}   books`,
      ),
    ],
    ...accounts.map(({ code, stock, sold, oversold }) => [
      plain(
        `${code.padEnd(12)}${String(stock).padStart(8)}${String(sold).padStart(8)}${String(stock + sold).padStart(9)}   `,
      ),
      oversold === 0 ? piece('right', 'good') : piece(`WRONG: ${oversold} sold twice`, 'bad'),
    ]),
    [],
    [
      plain('locks '),
      now.locksOn ? piece('on', 'good') : piece('OFF', 'bad'),
      plain(
        `; ${now.orders} orders, ${perSecond.toFixed(0)} per second; waits p95 ${stats.wait.p95.toFixed(0)} ms`,
      ),
    ],
    [plain(`${conflictsBetween(stats)} conflicts between the services; ${stats.lost} lost leases`)],
    [
      plain(
        instances.map(({ name, state }) => (state === 'serving' ? name : `${name} (${state})`)).join(', '),
      ),
    ],
    [],
    [faint(`${'held now'.padEnd(14)}${'by'.padEnd(14)}${'why'.padEnd(26)}lease left`)],
    ...holders
      .slice(0, 5)
      .map(({ key, instance, context, remainingMs, wanted }) => [
        plain(`${key.padEnd(14)}${instance.padEnd(14)}${(context ?? '').padEnd(26)}`),
        plain(`${(remainingMs / 1000).toFixed(1)} s${wanted ? ', wanted' : ''}`),
      ]),
    ...(holders.length === 0 ? [[faint('nothing')]] : []),
  ]
}

function piece(text: string, tone: Tone): Piece {
  return { text, tone }
}

function plain(text: string): Piece {
  return piece(text, 'plain')
}

function faint(text: string): Piece {
  return piece(text, 'faint')
}
