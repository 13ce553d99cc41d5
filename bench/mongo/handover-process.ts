/** One of the two processes that a key goes to and fro between. */
import { carryBaton } from '../baton.ts'
import { open } from './contenders.ts'

const [url = '', count = ''] = process.argv.slice(2)
carryBaton(await open({ kind: 'holdfast' }, url), Number(count), { holdMs: 60, pauseMs: 20 })
