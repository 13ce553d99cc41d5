/** Of counts in buckets, lowest first: each is the upper bound of the bucket it falls in, at most `max`; 0 while all are empty. */
export function percentiles<B extends { readonly count: number }>(
  buckets: readonly B[],
  upperBound: (bucket: B) => number,
  max: number,
): { p50: number; p95: number; p99: number } {
  let total = 0
  for (const { count } of buckets) total += count
  const upTo = (part: number): number => {
    let left = part * total
    for (const bucket of buckets) if ((left -= bucket.count) <= 0) return Math.min(upperBound(bucket), max)
    return 0
  }
  return { p50: upTo(0.5), p95: upTo(0.95), p99: upTo(0.99) }
}
