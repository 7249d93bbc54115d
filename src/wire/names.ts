import { ConfigError } from './errors.ts'

/** A task name `name:major.minor` in parts. */
export interface TaskName {
  full: string
  name: string
  major: number
  minor: number
}

const pattern = /^([A-Za-z][A-Za-z0-9_./-]{0,99})(?::(0|[1-9]\d{0,5})(?:\.(0|[1-9]\d{0,5}))?)?$/

/** A name found in the registry, which may hold anything: undefined when it is not `name:major.minor`. */
export const tryParseTaskName = (full: string): TaskName | undefined => {
  const { name, major, minor } = parseCalledName(full) ?? {}
  return name === undefined || major === undefined || minor === undefined ? undefined : { full, name, major, minor }
}

/** A declared name. Throws ConfigError. */
export const parseTaskName = (full: string): TaskName => {
  const parsed = tryParseTaskName(full)
  if (parsed) return parsed
  throw new ConfigError(
    `'${String(full).slice(0, 120)}' is not a task name. Write name:major.minor, as in 'resize_image:1.0' ` +
      '(a letter first, then letters, digits, and _ . / -).',
  )
}

/** The same of a name as it is called; what is left open is undefined. */
export type CalledName = { name: string; major: number | undefined; minor: number | undefined }

/** A name as callers write it: `name:1.0`, `name:1` or `name`. Undefined when it is none of these. */
export const parseCalledName = (called: string): CalledName | undefined => {
  const match = typeof called === 'string' ? pattern.exec(called) : null
  if (!match) return undefined
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  return { name: match[1]!, major: number(match[2]), minor: number(match[3]) }
}

/** Newest first. */
export const newestFirst = (a: TaskName, b: TaskName): number => b.major - a.major || b.minor - a.minor

/** What else these tasks can be called by, and the newest one that this leads to: `name:1` and `name`. Names of other forms are left out. */
export const aliasesOf = (tasks: readonly string[]): Map<string, string> => {
  const named = tasks.flatMap(full => tryParseTaskName(full) ?? []).sort(newestFirst)
  const aliases = new Map<string, string>()
  for (const { full, name, major } of named)
    for (const alias of [`${name}:${major}`, name]) if (!aliases.has(alias)) aliases.set(alias, full)
  return new Map([...aliases].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Which build of its program a worker runs: a text that its people chose. */
export const isBuild = (value: unknown): value is string =>
  typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,64}$/u.test(value)
