import { waitForTurns } from '../turn.ts'
import { open } from './contenders.ts'
import type { RedisContender } from './figures.ts'

const [url = '', prefix = '', given = ''] = process.argv.slice(2)
const contender = JSON.parse(given) as RedisContender
await waitForTurns(() => open(contender, url, prefix))
