/** An answer in the form of RFC 9457. */
export interface Problem {
  readonly status: 400 | 412 | 428
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const TITLES = {
  400: 'Bad Request',
  412: 'Precondition Failed',
  428: 'Precondition Required',
} as const

// A later request may be answered otherwise; a 428 must not be kept at all (RFC 6585).
const HEADERS = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' }

export function problem(status: Problem['status'], detail: string, more: object = {}): Problem {
  const body = { type: 'about:blank', title: TITLES[status], status, detail, ...more }
  return { status, headers: HEADERS, body: JSON.stringify(body) }
}

export function responseOf({ status, headers, body }: Problem): Response {
  return new Response(body, { status, headers })
}

/** A response of Node's http server; Express and its like build on it. */
export interface NodeResponse {
  readonly headersSent: boolean
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

export function send({ status, headers, body }: Problem, response: NodeResponse): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.end(body)
}
