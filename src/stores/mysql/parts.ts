/** Items of one statement, which bounds the rows that it locks. */
const MOST_ITEMS = 500
/** Of its text: half of the smallest `max_allowed_packet` that is promised to be enough, and with it a step stays short. */
const MOST_BYTES = 500_000
/** What is around the values of an item. */
const FRAME_BYTES = 250

/** The items in their order, a statement each time. An item alone, with the longest context, is far below the bound. */
export function partsOf<I>(items: readonly I[]): I[][] {
  const parts: I[][] = []
  let part: I[] = []
  let bytes = 0
  for (const item of items) {
    // Values go as hexadecimal digits, a holder as JSON before that.
    const more = FRAME_BYTES + 2 * Buffer.byteLength(JSON.stringify(item))
    if (part.length === 0 || part.length === MOST_ITEMS || bytes + more > MOST_BYTES) {
      part = []
      bytes = 0
      parts.push(part)
    }
    part.push(item)
    bytes += more
  }
  return parts
}
