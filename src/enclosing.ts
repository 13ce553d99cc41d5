/** Something that the running code is inside of. */
export interface Enclosing<T> {
  /** What that is inside of. */
  outer: T | undefined
}

/**
 * The innermost that is not over, `from` here outwards. Those that are over are taken out on the way: what a body has
 * started may go on after it and start the next, for ever, and each would keep the one before.
 */
export function innermost<T extends Enclosing<T>>(
  from: T | undefined,
  isOver: (each: T) => boolean,
): T | undefined {
  const first = skip(from, isOver)
  for (let each = first; each; each = each.outer) each.outer = skip(each.outer, isOver)
  return first
}

function skip<T extends Enclosing<T>>(from: T | undefined, isOver: (each: T) => boolean): T | undefined {
  let each = from
  while (each && isOver(each)) each = each.outer
  return each
}
