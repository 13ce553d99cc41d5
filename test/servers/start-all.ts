/** Starts servers at the same time: all of them, or none is left. */
export async function startAll<S extends { stop(): Promise<void> }>(
  starters: readonly (() => Promise<S>)[],
): Promise<S[]> {
  const results = await Promise.allSettled(starters.map((start) => start()))
  const failure = results.find((result) => result.status === 'rejected')
  const servers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (!failure) return servers
  await Promise.all(servers.map((server) => server.stop()))
  throw failure.reason
}
