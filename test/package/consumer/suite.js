// A store author's test file: `node --test suite.js` with DRIVER and FILE in the environment.
import { describe, it } from 'node:test'
import { memoryStore } from 'holdfast/memory'
import { storeConformance } from 'holdfast/testing'
import openStore from './open-store.js'

const argument = { driver: process.env.DRIVER, file: process.env.FILE }

if (argument.driver === 'memory') {
  // One object for all clients: a memory store is its own server.
  const store = memoryStore()
  storeConformance({ describe, it }, { name: 'memory', createStore: () => store })
} else {
  storeConformance(
    { describe, it },
    {
      name: `sqlite by ${argument.driver}`,
      createStore: () => openStore(argument),
      processes: { module: new URL('./open-store.js', import.meta.url), argument },
    },
  )
}
