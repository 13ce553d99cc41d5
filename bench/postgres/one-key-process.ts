import type { Contender } from '../figures.ts'
import { competeForOneKey } from '../one-key-tasks.ts'
import { open } from './contenders.ts'

const [url = '', contender = ''] = process.argv.slice(2)
competeForOneKey(await open(JSON.parse(contender) as Contender, url))
