import { describe, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { storeConformance } from '../../src/testing/index.ts'

// One object for all clients: a memory store is its own server.
const store = memoryStore()

storeConformance({ describe, it }, { name: 'memory', createStore: () => store })
