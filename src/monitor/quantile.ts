/** The upper bound of the bucket that the quantile falls in, at most `max`; 0 while all are empty. */
export function quantile(
  buckets: readonly { readonly le: number; readonly count: number }[],
  q: number,
  max: number,
): number {
  let left = q * buckets.reduce((total, { count }) => total + count, 0)
  for (const { le, count } of buckets) {
    left -= count
    if (count > 0 && left <= 0) return Math.min(le, max)
  }
  return 0
}
