import type { ChannelEars } from '../../src/stores/redis/client.ts'
import { until } from './stage.ts'

/** Keeps what a listening connection tells: `up a`, `down a`, `a: message`. */
export class Heard implements ChannelEars {
  readonly all: string[] = []

  heard(channel: string, message: string): void {
    this.all.push(`${channel}: ${message}`)
  }

  up(channel: string): void {
    this.all.push(`up ${channel}`)
  }

  down(channel: string): void {
    this.all.push(`down ${channel}`)
  }

  count(what: string): number {
    return this.all.filter((one) => one === what).length
  }

  /** Until it was told so many times. */
  async until(what: string, times = 1): Promise<void> {
    await until(`${what}, after ${this.all.slice(-20).join(', ')}`, () => this.count(what) >= times)
  }
}
