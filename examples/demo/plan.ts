/** What the demonstration and its workers have agreed on. */
export const KEYS = ['order:7', 'stock:42', 'invoice:9'] as const
export const WORKERS = 4
export const LEASE_MS = 2000

/** From a worker to the demonstration. */
export type Report =
  | { readonly is: 'ready' }
  | { readonly is: 'waiting'; readonly key: string }
  | {
      readonly is: 'holding'
      readonly key: string
      readonly token: bigint
      readonly tookOverFrom: string | null
    }
  /** As ordered. */
  | { readonly is: 'lingering' }
  /** The key's counter was raised; the key is given back next. */
  | { readonly is: 'done'; readonly key: string }
  | { readonly is: 'resting' }
  | { readonly is: 'failed'; readonly why: string }

/** From the demonstration to a worker. `linger`: take this key next, and do not give it back. */
export type Order = { readonly do: 'linger'; readonly key: string } | { readonly do: 'stop' }

/** How many times a key was worked on, as its holders wrote it down. */
export function counterFile(folder: string, key: string): string {
  return `${folder}/${key.replace(':', '-')}.count`
}
