/** A request that is refused, with the status that tells its client what to do. */
export class Refusal extends Error {
  readonly status: 400 | 404 | 409 | 422
  readonly code: string

  constructor(status: Refusal['status'], code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** The database of the stock did not answer. */
export class StockUnavailable extends Error {}
