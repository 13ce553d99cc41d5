import { waitForTurns } from '../turn.ts'
import { open } from './contenders.ts'

const [url = ''] = process.argv.slice(2)
await waitForTurns(() => open({ kind: 'holdfast' }, url))
