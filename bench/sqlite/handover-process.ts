/** One of the two processes that a key goes to and fro between. */
import { carryBaton } from '../baton.ts'
import { open } from './contenders.ts'

const [file = '', count = ''] = process.argv.slice(2)
carryBaton(await open({ kind: 'holdfast' }, file), Number(count), { holdMs: 25, pauseMs: 10 })
