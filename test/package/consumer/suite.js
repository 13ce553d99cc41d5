// A store author's test file: `node --test suite.js` with DRIVER and FILE in the environment.
import { describe, it } from 'node:test'
import { storeConformance } from 'holdfast/testing'
import openStore from './open-store.js'

const argument = { driver: process.env.DRIVER, file: process.env.FILE }

storeConformance(
  { describe, it },
  {
    name: `sqlite by ${argument.driver}`,
    createStore: () => openStore(argument),
    processes: { module: new URL('./open-store.js', import.meta.url), argument },
  },
)
