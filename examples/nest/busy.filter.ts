import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'
import { LockError } from '../../src/index.ts'

interface Response {
  status(code: number): Response
  set(name: string, value: string): Response
  json(body: unknown): void
}

/** Too many want the same, or the store is down: neither is a fault of the request, and later it may work. */
@Catch(LockError)
export class BusyFilter extends BaseExceptionFilter implements ExceptionFilter<LockError> {
  override catch(error: LockError, host: ArgumentsHost): void {
    const { code } = error
    if (code !== 'LOCK_ACQUIRE_TIMEOUT' && code !== 'STORE_UNAVAILABLE') return super.catch(error, host)
    const response = host.switchToHttp().getResponse<Response>()
    response.status(503).set('retry-after', '1').json({ statusCode: 503, message: code })
  }
}
