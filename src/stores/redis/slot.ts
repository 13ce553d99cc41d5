const SLOTS = 16_384

/** The slot of a key or of a sharded channel, as a Redis Cluster counts it: by what is in the first braces, if anything. */
export function slotOf(name: string): number {
  const open = name.indexOf('{')
  const close = open < 0 ? -1 : name.indexOf('}', open)
  const counted = close > open + 1 ? name.slice(open + 1, close) : name
  let crc = 0
  for (const byte of Buffer.from(counted)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc % SLOTS
}
