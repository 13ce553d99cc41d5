/** A table; the first line is its head. */
export function markdown([header = [], ...body]: readonly (readonly string[])[]): string[] {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...body.map(line)]
}
