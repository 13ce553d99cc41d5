import { extname } from 'node:path'
import type { CST, Lexer, Parser } from 'yaml'
import { invalid } from './problems.ts'

/** More than anyone writes by hand; few enough that what they stand for stays small. */
const MOST_ALIASES = 100
/** Far more than a configuration has, and far fewer than the stack has room for. */
const MOST_LEVELS = 100

const FORMATS: Readonly<Record<string, (text: string) => unknown>> = {
  '.json': parseJson,
  '.yaml': parseYaml,
  '.yml': parseYaml,
}

/** How to read a file of that name. */
export function parserOf(path: string): (text: string) => Promise<unknown> {
  const parse = FORMATS[extname(path).toLowerCase()]
  if (!parse) throw invalid(`${path}: the name must end in .json, .yaml or .yml`)
  return async (text) => {
    if (text.trim() === '') throw invalid(`${path}: it is empty`)
    try {
      return await parse(text)
    } catch (error) {
      // Neither the parser's message nor the error as a cause: they quote the line, with whatever is in it.
      throw invalid(`${path}: ${error instanceof Unreadable ? error.message : 'it cannot be read'}`)
    }
  }
}

class Unreadable extends Error {}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? []
    const where = position === undefined ? '' : ` at ${lineOf(text, Number(position))}`
    throw new Unreadable(`it is not JSON${where}`)
  }
}

async function parseYaml(text: string): Promise<unknown> {
  const { Composer, Document, isScalar, Lexer, Parser, visit } = await import('yaml')
  const composer = new Composer({
    schema: 'core',
    // Its messages quote the text; at any other level it even prints what it finds odd.
    prettyErrors: false,
    logLevel: 'error',
    // Else a few hundred braces, each the name of the next, take a minute.
    stringKeys: true,
    // It compares each name with each: below is the same in one go.
    uniqueKeys: false,
  })
  const documents = composer.compose(shallowTokens(text, new Lexer(), new Parser()))
  const [document = new Document(null), second] = documents
  // A tag that it does not know, such as !!js/function, is only a warning to it.
  const [fault] = [...document.errors, ...document.warnings]
  if (fault) throw new Unreadable(`it is not YAML at ${lineOf(text, fault.pos[0])} (${fault.code})`)
  if (second) throw new Unreadable(`it is not YAML at ${lineOf(text, second.range[0])} (MULTIPLE_DOCS)`)
  visit(document, {
    Map: (_, { items }) => {
      const names = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (names.has(key.value))
          throw new Unreadable(`${lineOf(text, key.range?.[0] ?? 0)} has a name again`)
        names.add(key.value)
      }
    },
  })
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES })
  } catch {
    throw new Unreadable('an alias in it leads nowhere, or there are too many')
  }
}

/**
 * What composes them goes down by recursion, and V8 ends the process if it must compile a regular expression when the
 * stack is nearly used up. Reading them does not.
 */
function* shallowTokens(text: string, lexer: Lexer, parser: Parser): Generator<CST.Token> {
  for (const lexeme of lexer.lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length > MOST_LEVELS)
      throw new Unreadable(`it is nested too deeply at ${lineOf(text, parser.offset - lexeme.length)}`)
  }
  yield* parser.end()
}

function lineOf(text: string, position: number): string {
  const before = text.slice(0, position).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
