import { UsageError } from './arguments.ts'
import type { Command } from './command.ts'

/** How many rows a command shows that could show very many. */
export const limitOption: Command['options'][number] = {
  flag: 'limit',
  value: 'n',
  about: 'how many to show',
  fallback: '20',
}

/** @throws UsageError */
export const limitOf = (text: string | undefined, command: string): number => {
  if (text === undefined) return Number(limitOption.fallback)
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new UsageError(`--limit must be a whole number above 0; it is '${text}'.`, command)
}
