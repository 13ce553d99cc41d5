import { resolve } from 'node:path'
import { defineConfig, type UserConfig } from 'vite'

const config: UserConfig = defineConfig({
  root: import.meta.dirname,
  // The server can be mounted under any path.
  base: './',
  logLevel: 'warn',
  // Said here, since Vite goes by NODE_ENV, which is another in the tests: they are to see what is shipped.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: resolve(import.meta.dirname, '../../dist/dashboard'),
    emptyOutDir: true,
    // The oldest that know `light-dark()` in a style sheet.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})

export default config
