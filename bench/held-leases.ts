/** What is to be reached with 10,000 leases, on every store. */
export const HELD_LEASES = [
  { name: 'calls', unit: 'store calls per 10 s', atMost: 20 },
  { name: 'corePercent', unit: '% of a core', atMost: 2 },
] as const
