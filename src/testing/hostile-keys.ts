import { MAX_KEY_BYTES } from '../key.ts'

// Written with escapes where two keys would look alike, so that an editor cannot make them one.
// oxfmt-ignore
const HOSTILE = [
  "o'brien", '"quoted"', '`ticked`', "'; drop table locks; --", '%', '%%', '%s', '_', '{}', '{tag}', '{tag}x', '{tag}y',
  '{', '$', '$1', '${x}', '$$body$$', ':name', '@name', '?', '#', '&', '<b>', '\\', '\\\\', '\\0', '\\u0000', '/', '../up',
  'a/b', 'a//b', '*', '[a-z]', '(', '|', '~', ',', ';', '=', '+', '!', '^', '0', '-1', '1e3', '1', '01', '1.0',
  'NaN', 'null', 'undefined', 'true', '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty',
  // Alike but not the same.
  'case', 'Case', 'CASE', 'stra\u00dfe', 'strasse', 'STRASSE', 'i', 'I', '\u0130', '\u0131',
  'caf\u00e9', 'cafe\u0301', 'cafe', '\u00c5', 'A\u030a', '\u212b', '\uff21', 'A', '\ufb01', 'fi',
  'two words', 'two  words', ' lead', 'lead', 'trail', 'trail ', 'trail  ', 'nbsp', 'nbsp\u00a0',
  'zero\u200bwidth', 'zerowidth', 'soft\u00adhyphen', 'softhyphen', '\ufeffbom', 'bom',
  // Beyond the basic plane, joined, reversed, the last of everything.
  '\u{1f512}', '\u{1f513}', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u{1f44d}\u{1f3fd}', '\u{1f44d}',
  '\u202eright', '\u2028line', '\u2029paragraph', '\ufffd', '\uffff', '\u{10ffff}', '\u65e5\u672c\u8a9e',
]

/** Valid keys that stores get wrong, all different, under one prefix; some have exactly 512 bytes. */
export function hostileKeys(prefix: string): string[] {
  return [...HOSTILE.map((name) => prefix + name), ...longestKeys(prefix)]
}

/** Keys of the greatest length that differ in their last character only. */
function longestKeys(prefix: string): string[] {
  const room = MAX_KEY_BYTES - Buffer.byteLength(prefix)
  const wide = '\u{1f512}'.repeat(Math.floor(room / 4) - 1)
  const filler = 'x'.repeat(room % 4)
  return [
    `${prefix}${'y'.repeat(room - 1)}1`,
    `${prefix}${'y'.repeat(room - 1)}2`,
    `${prefix}${filler}${wide}\u{1f512}`,
    `${prefix}${filler}${wide}\u{1f513}`,
  ]
}

/** Keys that are names of something in the language; they stand alone, without a prefix. */
export const RESERVED_NAMES: readonly string[] = ['__proto__', 'constructor', 'toString', '0', '%', '*', '\\']

/** What core lets through as a service or an instance: 1 to 200 characters, none of them control. */
// oxfmt-ignore
export const HOSTILE_NAMES: readonly string[] = [
  ' ', "o'brien", '"quoted"', '\\', '\\n', '{}', '[]', 'null', '0', 'true', '%s %d', '$1', ':', '|', ',',
  "'; drop table locks; --", '\u{1f512}', 'cafe\u0301', '\u202eright', '\u2028', 'y'.repeat(200),
]

/** What core lets through as a reason: up to 4,096 bytes, everything but NUL and half characters. */
// oxfmt-ignore
export const HOSTILE_TEXTS: readonly string[] = [
  ...HOSTILE_NAMES, '', 'two\nlines', 'tab\tand\rreturn', '\u0001\u001f\u007f\u0085',
  '{"a":[1,null,"\\u0000"]}', 'x'.repeat(4096), '\u{1f512}'.repeat(1024),
]
