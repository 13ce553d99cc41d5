import { styleText } from 'node:util'
import type { Piece, Tone } from './piece.ts'

/** Where the demonstration is seen. */
export interface Screen {
  /** One line of the story. */
  tell(line: string, tone?: Tone): void
  /** The table as it is now. */
  show(table: readonly Piece[][]): void
  close(): void
}

const STYLES = { strong: 'bold', faint: 'dim', good: 'green', bad: 'red' } as const
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const CLEAR_BELOW = '\x1b[0J'
const CLEAR_ALL = '\x1b[2J\x1b[H'

/** A pipe or a file: lines, one after the other. */
export class Lines implements Screen {
  tell(line: string): void {
    process.stdout.write(`${line}\n`)
  }

  show(table: readonly Piece[][]): void {
    const lines = table.map((pieces) => `    ${pieces.map(({ text }) => text).join('')}`.trimEnd())
    process.stdout.write(`\n${lines.join('\n')}\n\n`)
  }

  close(): void {}
}

/** A terminal: the table is redrawn in place, with the end of the story below it. */
export class Terminal implements Screen {
  readonly #title: string
  readonly #story: Piece[] = []
  #table: readonly Piece[][] = []
  #drawn = 0
  readonly #onResize = (): void => {
    // The terminal has wrapped the lines anew: where they are now is anybody's guess.
    this.#drawn = 0
    process.stdout.write(CLEAR_ALL)
    this.#draw()
  }

  constructor(title: string) {
    this.#title = title
    process.stdout.write(HIDE_CURSOR)
    process.stdout.on('resize', this.#onResize)
  }

  tell(text: string, tone: Tone = 'plain'): void {
    this.#story.push({ text, tone })
    this.#draw()
  }

  show(table: readonly Piece[][]): void {
    this.#table = table
    this.#draw()
  }

  close(): void {
    process.stdout.off('resize', this.#onResize)
    process.stdout.write(SHOW_CURSOR)
  }

  #draw(): void {
    // A terminal may not know its size, and say 0.
    const columns = process.stdout.columns || 80
    const rows = process.stdout.rows || 24
    // The last column stays empty: some terminals wrap as soon as it is written.
    const width = Math.max(20, columns - 1)
    const head = [
      ...wrap(this.#title, width).map((line) => styled(line, 'strong')),
      '',
      ...this.#table.map((pieces) => clip(pieces, width)),
      '',
    ]
    const story = this.#story.flatMap(({ text, tone }) => wrap(text, width).map((line) => styled(line, tone)))
    const room = Math.max(1, rows - head.length - 1)
    const lines = [...head, ...story.slice(-room)].slice(0, Math.max(1, rows - 1))
    const back = this.#drawn > 0 ? `\x1b[${this.#drawn}A\r` : ''
    this.#drawn = lines.length
    process.stdout.write(`${back}${CLEAR_BELOW}${lines.join('\n')}\n`)
  }
}

function styled(text: string, tone: Tone): string {
  return tone === 'plain' ? text : styleText(STYLES[tone], text)
}

function clip(pieces: readonly Piece[], width: number): string {
  let room = width
  let line = ''
  for (const { text, tone } of pieces) {
    line += styled(text.slice(0, room), tone)
    room = Math.max(0, room - text.length)
  }
  return line
}

/** Lines of at most `width`, broken at spaces; what follows the first is set in. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\S)(?= )/)) {
    if (line !== '' && line.length + word.length > width) {
      lines.push(line)
      line = `        ${word}`
    } else {
      line += word
    }
  }
  return [...lines, line]
}
