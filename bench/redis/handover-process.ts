/** One of the two processes that a key goes to and fro between. */
import { carryBaton } from '../baton.ts'
import { open } from './contenders.ts'

const [url = '', prefix = '', count = ''] = process.argv.slice(2)
carryBaton(await open({ kind: 'holdfast' }, url, prefix), Number(count), { holdMs: 10, pauseMs: 4 })
