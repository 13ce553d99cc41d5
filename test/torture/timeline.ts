import { Round } from './checks/round.ts'
import type { Entry } from './history.ts'
import { escape } from './timeline-figure.ts'
import { sceneOf } from './timeline-scene.ts'
import { draw } from './timeline-svg.ts'
import type { Violation } from './violation.ts'

/** So many of them are drawn; all are named. */
const DRAWN = 8

const PROMISES: Readonly<Record<string, string>> = {
  G1: 'At most one holds a key at a time.',
  G2: 'A holder knows that its lease is over before anyone else can get the key.',
  G3: 'Of two leases on a key, the later one has the higher token.',
  G4: 'Only the owner of a lease renews or releases it.',
  G5: 'No key stays held for nobody.',
  G6: 'A loss is a value, and an error says what has happened.',
  G7: 'No process dies of a fault, and nobody waits for ever.',
  G8: 'Those who wait in one process get a key in the order in which they asked.',
  G9: 'A process that passes a key on inside itself lets others have their turn.',
  G10: 'Whoever enters a key again gets the same token, without a call to the store.',
  G12: 'After close nothing is left that keeps a process alive.',
  guard: 'A guarded resource never takes a lower token after a higher one.',
  round: 'A round comes to its end, and all of its faults are healed.',
  model: 'Some order of all steps is possible for a lock.',
}

/** A page that shows what is wrong to a person: each violation in words and as a picture. No script, no other file. */
export function timeline(entries: readonly Entry[], violations: readonly Violation[]): string {
  const round = new Round(entries)
  const start = entries[0]?.at ?? 0
  const parts = violations.map((violation, i) => {
    const { guarantee, message, from, to } = violation
    const when = `${Math.round(from - start)}–${Math.round(to - start)} ms after the round began`
    const drawn = i < DRAWN ? picture(round, violation, start, false) : ''
    return `<section><h2>${escape(guarantee)}: ${escape(message)}</h2>
<p>${escape(PROMISES[guarantee] ?? '')} ${when}.</p>${drawn}</section>`
  })
  const verdict = violations.length === 0 ? 'Nothing is wrong in this history.' : parts.join('\n')
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>What went wrong</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1120px;padding:0 1rem}
h2{font-size:1.05rem}section{margin-bottom:2.5rem}svg{max-width:100%;height:auto}</style>
<h1>What went wrong</h1>
${verdict}
</html>
`
}

/** The picture of one violation alone. */
export function timelineSvg(entries: readonly Entry[], violation: Violation): string {
  return `${picture(new Round(entries), violation, entries[0]?.at ?? 0, true)}\n`
}

function picture(round: Round, violation: Violation, start: number, headed: boolean): string {
  const { guarantee, message, from, to, workers } = violation
  const title = `${guarantee}: ${message}`
  const ms = to - from < 1 ? 'less than 1 ms' : `${Math.round(to - from)} ms`
  const wrong = guarantee === 'G1' && workers.length === 2 ? `${ms}: two hold it` : ms
  const isHold = guarantee === 'G1' || guarantee === 'G2'
  return draw(sceneOf(round, violation), { title, headed, wrong, isHold }, start)
}
