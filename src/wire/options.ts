import { ConfigError, HubError } from './errors.ts'
import { nearNames } from './names.ts'

/** The names of all options of one kind; the compiler sees to it that none is forgotten. */
export const namesOf = <T>(names: Record<keyof T, true>): ReadonlySet<string> => new Set(Object.keys(names))

/**
 * Why something cannot be the options of anything, whatever their values: it is no object, or has a name that there is not. Undefined when
 * it can. It runs with every call, so it makes nothing.
 */
export const wrongOptions = (options: unknown, known: ReadonlySet<string>, what = 'option'): string | undefined => {
  if (typeof options !== 'object' || options === null)
    return `${what}s are given as an object, not as ${options === null ? 'null' : `a ${typeof options}`}.`
  for (const name in options) if (!known.has(name)) return unknownName(name, known, what)
  return undefined
}

/** `what` says what kind of name it is. */
export const unknownName = (name: string, known: ReadonlySet<string>, what: string): string => {
  const near = nearNames(name, known).map(each => `'${each}'`)
  const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : `. Known are ${[...known].join(', ')}.`
  return `there is no ${what} '${name.slice(0, 80)}'${hint}`
}

/** @throws ConfigError that begins with `of` */
export const refuseOptions = (of: string, options: unknown, known: ReadonlySet<string>): void => {
  const wrong = wrongOptions(options, known)
  if (wrong !== undefined) throw new ConfigError(`${of}: ${wrong}`)
}

/** @throws HubError InvalidArgs that begins with `of` */
export const refuseHubOptions = (of: string, options: unknown, known: ReadonlySet<string>, what?: string): void => {
  const wrong = wrongOptions(options, known, what)
  if (wrong !== undefined) throw new HubError('InvalidArgs', `${of}: ${wrong}`)
}
