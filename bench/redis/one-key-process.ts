import { competeForOneKey } from '../one-key-tasks.ts'
import { open } from './contenders.ts'
import type { RedisContender } from './figures.ts'

const [url = '', prefix = '', contender = ''] = process.argv.slice(2)
competeForOneKey(await open(JSON.parse(contender) as RedisContender, url, prefix))
