export type Tone = 'plain' | 'strong' | 'faint' | 'good' | 'bad'

/** Some text of one look, for a terminal that has colours. */
export interface Piece {
  readonly text: string
  readonly tone: Tone
}
