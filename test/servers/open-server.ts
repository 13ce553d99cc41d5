/** For benches and for the tests of a project: a server that no one restarts. */
export interface OpenServer {
  readonly url: string
  /** Stops it if it was started here. */
  stop(): Promise<void>
}

const openers = {
  postgres: async (): Promise<OpenServer> =>
    given('HOLDFAST_POSTGRES_URL') ?? (await import('./postgres.ts')).startPostgres(),
}

export type ServerKind = keyof typeof openers

/** The server that an environment variable names, else one that is started for it. */
export async function openServer(kind: ServerKind): Promise<OpenServer> {
  return openers[kind]()
}

function given(variable: string): OpenServer | undefined {
  const url = process.env[variable]
  return url ? { url, stop: () => Promise.resolve() } : undefined
}
