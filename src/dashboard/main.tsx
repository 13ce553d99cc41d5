import { render } from 'preact'
import { App } from './app.tsx'
import { follow } from './live.ts'
import { pollStats } from './stats-feed.ts'

render(<App />, document.getElementById('app')!)
void follow()
pollStats()
