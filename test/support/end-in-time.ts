/** Longer than a process takes to end, and shorter than any timer of ours or of a driver would keep it. */
const LIMIT_MS = 1000
const TICKS = 20

/**
 * A process that something keeps for longer from here on ends with 3. By ticks, of which a process that stands still misses
 * some; its start, and the news of its end, are not counted.
 */
export function endInTime(): void {
  let ticks = 0
  const tick = (): void => {
    ticks += 1
    if (ticks === TICKS) process.exit(3)
  }
  setInterval(tick, LIMIT_MS / TICKS).unref()
}
