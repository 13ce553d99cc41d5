import { open, stat } from 'node:fs/promises'
import { invalid } from './problems.ts'

const MOST_BYTES = 1024 * 1024

/** The text of a file that a person has written: of a bounded size, in UTF-8. */
export async function readText(path: string): Promise<string> {
  const bytes = await read(path).catch((error: unknown) => {
    throw (error as Error).name === 'LockError' ? error : invalid(`${path}: ${reasonOf(error)}`)
  })
  if (bytes.length > MOST_BYTES) throw invalid(`${path}: it is larger than 1 MiB`)
  // UTF-16 is full of them.
  if (bytes.includes(0)) throw invalid(`${path}: it has a NUL in it, write it as UTF-8 text`)
  try {
    // Takes a byte order mark away, too.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(`${path}: it is not UTF-8`)
  }
}

async function read(path: string): Promise<Buffer> {
  // First of all: to open a pipe would wait for its other end.
  if (!(await stat(path)).isFile()) throw invalid(`${path}: it is not a file`)
  const file = await open(path, 'r')
  try {
    // No more than that, also if it grows meanwhile.
    const buffer = Buffer.alloc(MOST_BYTES + 1)
    let length = 0
    for (let count = -1; count !== 0; length += count) {
      ;({ bytesRead: count } = await file.read(buffer, length, buffer.length - length, null))
    }
    return buffer.subarray(0, length)
  } finally {
    await file.close()
  }
}

function reasonOf(error: unknown): string {
  const { code = 'unknown' } = error as { code?: string }
  const known: Record<string, string> = {
    ENOENT: 'there is no such file',
    EACCES: 'this process may not read it',
    EPERM: 'this process may not read it',
    ENOTDIR: 'a part of the path is not a folder',
    ELOOP: 'its links lead in a circle',
    ENAMETOOLONG: 'the path is too long',
  }
  return known[code] ?? `it cannot be read (${code})`
}
