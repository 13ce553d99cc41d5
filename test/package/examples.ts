import { join } from 'node:path'

/** One ```ts block of a page, or a file that such blocks import. */
export interface Example {
  readonly page: string
  /** Page and line, for the report. */
  readonly name: string
  /** Where it is to be written. The files of a page are in one folder and may import each other. */
  readonly file: string
  readonly source: string
  /** Marked `ts run`: to be run, not only compiled. */
  readonly runs: boolean
  /** The text block right behind it: what it prints. */
  readonly prints: string | null
}

/**
 * A block starts with ```ts or ```ts run. What it needs and a reader does not, such as the function that
 * it protects, stands in a comment before it: <!-- ts … -->. Such a comment is compiled behind the block,
 * so it holds declarations only.
 */
const BLOCK =
  /^(?:<!-- ts\n(?<context>[\s\S]*?)\n-->\n+)?```ts(?<mark> run)?\n(?<body>[\s\S]*?)\n```$(?:\n\n```text\n(?<prints>[\s\S]*?)```)?/gm

/** A block or a comment that starts with `// name.ts` is a file of that name. */
const NAMED = /^\/\/ ([\w.-]+\.ts)$/m

export function examplesOf(page: string, text: string): Example[] {
  const folder = page.replaceAll('/', '-')
  return [...text.matchAll(BLOCK)].flatMap((match) => {
    const { context = '', mark, body = '', prints = null } = match.groups ?? {}
    const line = text.slice(0, match.index + match[0].indexOf('```ts')).split('\n').length
    const common = { page, name: `${page}:${line}`, runs: false, prints: null }
    const ownFile = nameOf(context)
    const companion = ownFile ? [{ ...common, file: join(folder, ownFile), source: context }] : []
    const behind = ownFile ? '' : context
    return [
      ...companion,
      {
        ...common,
        file: join(folder, nameOf(body) ?? `line-${line}.ts`),
        // Lines keep their numbers, so that the compiler's messages point into the page.
        source: `${'\n'.repeat(line)}${body}\n${behind}\nexport {}\n`,
        runs: mark !== undefined,
        prints,
      },
    ]
  })
}

function nameOf(source: string): string | undefined {
  return NAMED.exec(source.split('\n', 1)[0] ?? '')?.[1]
}
