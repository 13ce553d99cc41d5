#!/usr/bin/env node
import { main } from './main.ts'

const { stdout, stderr, env } = process

// Who reads us has read enough, as `head` does. It ends as by SIGPIPE, without a word.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 141 : 74))
stderr.on('error', () => {})

const isTTY = stdout.isTTY === true
process.exitCode = await main({
  args: process.argv.slice(2),
  env,
  terminal: {
    out: stdout,
    err: stderr,
    isTTY,
    colour: isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    // Some terminals say 0.
    columns: isTTY ? stdout.columns || 80 : Infinity,
  },
})
// A driver that does not let go of its connection must not keep the shell waiting.
setTimeout(() => process.exit(), 3000).unref()
