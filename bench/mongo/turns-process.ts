import { waitForTurns } from '../turn.ts'
import { open } from './contenders.ts'
import type { MongoContender } from './figures.ts'

const [url = '', given = ''] = process.argv.slice(2)
const contender = JSON.parse(given) as MongoContender
await waitForTurns(() => open(contender, url))
