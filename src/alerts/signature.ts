import { createHmac } from 'node:crypto'

/** What `X-Holdfast-Signature` says: when it was signed, in seconds since 1970, and the HMAC of that and the body. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  const hmac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${hmac}`
}
