/**
 * Finds the programs of a server, and installs them where that can be done: every server that a test needs is
 * there, or the test fails and says what to do. Nothing is skipped.
 */
import { execFile } from 'node:child_process'
import { accessSync, constants, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface Programs {
  /** For people. */
  readonly name: string
  /** Looked for by the first one; the others must be in the same folder. */
  readonly files: readonly [string, ...string[]]
  /** Where they may be besides PATH, best first. In one part of a path, `*` stands for a version. */
  readonly folders: readonly string[]
  /** Debian's packages, or where else they come from. */
  readonly packages: readonly [string, ...string[]] | ProgramSource
  /** What else helps than to install them. */
  readonly advice?: string
}

export interface ProgramSource {
  /** What a person can do. */
  readonly manual: string
  /** Puts the programs into one of the folders. Resolves to the reason why it did not, if so. */
  fetch(machine: Machine): Promise<string | undefined>
}

export interface Machine {
  readonly path: string
  readonly isRoot: boolean
}

const INSTALL_LIMIT_MS = 600_000

/** The folder that has the programs. */
export async function programFolder(programs: Programs, machine: Machine = thisMachine()): Promise<string> {
  const found = find(programs, machine.path)
  if (found) return found
  const { packages } = programs
  const source = 'fetch' in packages ? packages : debian(packages)
  const whyNot = await source.fetch(machine)
  const installed = find(programs, machine.path)
  if (installed) return installed
  const [first, ...others] = programs.files
  throw new Error(
    `${programs.name} was not found: ${first}${others.length > 0 ? ` with ${others.join(', ')}` : ''} is neither ` +
      `on PATH nor in ${programs.folders.join(', ')}. ` +
      `Install it (${source.manual})${programs.advice ? `, or ${programs.advice}` : ''}. ` +
      (whyNot ?? 'The packages were installed, but do not have it.'),
  )
}

function debian(packages: readonly string[]): ProgramSource {
  return {
    manual: `Debian: apt-get install ${packages.join(' ')}`,
    fetch: (machine) => install(packages, machine),
  }
}

function thisMachine(): Machine {
  return { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }
}

function find({ files, folders }: Programs, path: string): string | undefined {
  const [first] = files
  // A link on PATH leads to the folder where the rest is.
  const onPath = path.split(delimiter).flatMap((folder) => realFolderOf(join(folder, first)) ?? [])
  return [...onPath, ...folders.flatMap(expand)].find((folder) =>
    files.every((file) => isProgram(join(folder, file))),
  )
}

function realFolderOf(file: string): string | undefined {
  return isProgram(file) ? dirname(realpathSync(file)) : undefined
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The newest version first. */
function expand(folder: string): string[] {
  const [before, after] = folder.split('*')
  if (before === undefined || after === undefined) return [folder]
  try {
    const versions = readdirSync(before).sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a))
    return versions.map((version) => join(before, version, after))
  } catch {
    return []
  }
}

/** Resolves to the reason why nothing was installed, if so. */
async function install(packages: readonly string[], { path, isRoot }: Machine): Promise<string | undefined> {
  const aptGet = path
    .split(delimiter)
    .map((folder) => join(folder, 'apt-get'))
    .find(isProgram)
  if (!aptGet) return 'It was not installed for you: there is no apt-get here.'
  if (!isRoot) return 'It was not installed for you: only root may.'
  // The package lists may be missing or old: then the first attempt fails within a second.
  const command = 'apt-get -qy -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@"'
  const script = `${command} || { apt-get -q update && ${command}; }`
  // One at a time, by a lock that ends with its holder. Who comes second finds everything installed.
  const args = ['--timeout', '300', aptGet, 'sh', '-c', script, 'sh', ...packages]
  const env = { ...process.env, PATH: path, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  try {
    await promisify(execFile)('flock', args, { env, timeout: INSTALL_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 })
    return undefined
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    return `It could not be installed:\n${stdout || ''}\n${stderr || String(error)}`
  }
}
