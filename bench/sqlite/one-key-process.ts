import { competeForOneKey } from '../one-key-tasks.ts'
import { open } from './contenders.ts'
import type { SqliteContender } from './figures.ts'

const [file = '', contender = ''] = process.argv.slice(2)
competeForOneKey(await open(JSON.parse(contender) as SqliteContender, file))
