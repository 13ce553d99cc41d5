import { competeForOneKey } from '../one-key-tasks.ts'
import { open } from './contenders.ts'
import type { MariadbContender } from './figures.ts'

const [url = '', contender = ''] = process.argv.slice(2)
competeForOneKey(await open(JSON.parse(contender) as MariadbContender, url))
