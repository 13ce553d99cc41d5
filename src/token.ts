/**
 * The fencing token: `grant number × 1024 + hand-off index`. The store mints the grant number; the
 * low ten bits count hand-offs inside one grant, which need no server step.
 */
export const TOKENS_PER_GRANT = 1024

export function tokenOf(grant: number, handOffs: number): bigint {
  return BigInt(grant) * BigInt(TOKENS_PER_GRANT) + BigInt(handOffs)
}
