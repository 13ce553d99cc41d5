import { computed, effect, type Signal, signal } from '@preact/signals'
import { cut, duration, type Units, visible } from './format.ts'
import { en, type Word } from './words/en.ts'
import { zh } from './words/zh.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
export type Language = 'en' | 'zh'

const WORDS: Record<Language, Readonly<Record<Word, string>>> = { en, zh }

export const theme: Signal<Theme> = signal(kept('theme', THEMES) ?? 'system')
export const language: Signal<Language> = signal(
  kept('language', ['en', 'zh'] as const) ?? (navigator.language.startsWith('zh') ? 'zh' : 'en'),
)

effect(() => {
  const root = document.documentElement
  if (theme.value === 'system') delete root.dataset.theme
  else root.dataset.theme = theme.value
})

effect(() => {
  document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en'
})

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  keep('theme', chosen)
}

export function chooseLanguage(chosen: Language): void {
  language.value = chosen
  keep('language', chosen)
}

/** The words in the language that is chosen, with `{name}` filled in. */
export function t(word: Word, values: Readonly<Record<string, string | number>> = {}): string {
  const text = WORDS[language.value][word]
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? ''))
}

export function lasting(ms: number): string {
  const units: Units = {
    ms: t('unit.ms'),
    s: t('unit.s'),
    min: t('unit.min'),
    h: t('unit.h'),
    d: t('unit.d'),
  }
  return duration(ms, units)
}

/** For a time that ticks: whole seconds. */
export function ticking(ms: number): string {
  return lasting(Math.max(0, Math.round(ms / 1000)) * 1000).replace(t('unit.ms'), t('unit.s'))
}

/** Made once: to make one takes longer than to use it for all that is on the screen. */
const formats = computed(() => ({
  number: new Intl.NumberFormat(language.value),
  time: new Intl.DateTimeFormat(language.value, { timeStyle: 'medium', hourCycle: 'h23' }),
  dateTime: new Intl.DateTimeFormat(language.value, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
  }),
}))

export function counted(n: number): string {
  return formats.value.number.format(n)
}

export function clockTime(at: number): string {
  return formats.value.time.format(at)
}

export function dateTime(at: number): string {
  return formats.value.dateTime.format(at)
}

export function plain(text: string, max = 300): string {
  return cut(visible(text), max)
}

// Storage may be forbidden: then a choice lasts as long as the page.
function kept<T extends string>(name: string, known: readonly T[]): T | null {
  try {
    const value = localStorage.getItem(`holdfast.${name}`)
    return known.find((one) => one === value) ?? null
  } catch {
    return null
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`holdfast.${name}`, value)
  } catch {
    // As above.
  }
}
