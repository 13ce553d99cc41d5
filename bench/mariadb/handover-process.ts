/** One of the two processes that a key goes to and fro between. */
import { carryBaton } from '../baton.ts'
import { open } from './contenders.ts'

const [url = '', count = ''] = process.argv.slice(2)
// The longer one waits, the less often it asks: here it sleeps for up to about the pause when the key becomes free.
carryBaton(await open({ kind: 'holdfast' }, url), Number(count), { holdMs: 150, pauseMs: 120 })
