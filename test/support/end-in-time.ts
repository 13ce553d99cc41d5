/** Longer than a process takes to end, and shorter than any timer of ours or of a driver would keep it. */
const LIMIT_MS = 1000

/** A process that is kept for longer from here on ends with 3. It measures itself: to start and to be buried take their time, too. */
export function endInTime(): void {
  const start = performance.now()
  process.once('exit', () => {
    if (performance.now() - start > LIMIT_MS) process.exitCode = 3
  })
}
