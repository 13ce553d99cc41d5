import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Asset {
  readonly content: Uint8Array<ArrayBuffer>
  readonly type: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

const MISSING = `The dashboard of holdfast is not built. In its repository: npm run build
The API is there: /api/locks, /api/stats, /api/events, /metrics, /openapi.json
`

/** From the package it is next to us; from the sources, where the build puts it. */
const FOLDER = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/dashboard/' : '../dashboard/',
  import.meta.url,
)

/** The built files of the dashboard, in memory: only their own names are served, so no path leads anywhere else. */
export class Assets {
  readonly #folder: string
  #files: ReadonlyMap<string, Asset> | null = null

  constructor(folder: string = fileURLToPath(FOLDER)) {
    this.#folder = folder
  }

  index(): Response {
    const page = this.#all().get('index.html')
    if (!page) return new Response(MISSING, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    return new Response(page.content, { headers: { 'content-type': page.type, 'cache-control': 'no-cache' } })
  }

  /** Null if there is none of that name. Their names change with their content. */
  asset(name: string): Response | null {
    const file = this.#all().get(`assets/${name}`)
    if (!file) return null
    const headers = { 'content-type': file.type, 'cache-control': 'public, max-age=31536000, immutable' }
    return new Response(file.content, { headers })
  }

  #all(): ReadonlyMap<string, Asset> {
    if (this.#files) return this.#files
    const files = new Map<string, Asset>()
    for (const folder of ['', 'assets/']) {
      for (const name of namesIn(this.#folder + folder)) {
        const type = TYPES[extname(name)]
        if (type) files.set(folder + name, { content: readFileSync(this.#folder + folder + name), type })
      }
    }
    // Not built yet: it may be when somebody asks again.
    if (files.has('index.html')) this.#files = files
    return files
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
