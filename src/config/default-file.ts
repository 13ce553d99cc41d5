import { existsSync } from 'node:fs'
import { invalid } from './problems.ts'

const DEFAULT_FILES = ['holdfast.config.json', 'holdfast.config.yaml', 'holdfast.config.yml']

/** The one in the working directory, if there is one. */
export function defaultFile(): string | undefined {
  const [first, ...others] = DEFAULT_FILES.filter((name) => existsSync(name))
  if (others.length > 0) throw invalid(`there are ${[first, ...others].join(' and ')}, keep one of them`)
  return first
}
