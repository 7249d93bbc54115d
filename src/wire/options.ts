import { ConfigError, HubError, shown } from './errors.ts'
import { nearNames } from './text/near-names.ts'

/** The names of all options of one kind; the compiler sees to it that none is forgotten. */
export const namesOf = <T>(names: Record<keyof T, true>): ReadonlySet<string> => new Set(Object.keys(names))

/**
 * Why something cannot be the options of anything, whatever their values: it is no object, or has a name that there is not. Undefined when
 * it can. It runs with every call, so it makes nothing.
 */
export const wrongOptions = (options: unknown, known: ReadonlySet<string>, what = 'option'): string | undefined => {
  if (typeof options !== 'object' || options === null)
    return `${what}s must be an object, not ${options === null ? 'null' : `a ${typeof options}`}.`
  for (const name in options) if (!known.has(name)) return unknownName(name, known, what)
  return undefined
}

/** `what` says what kind of name it is. */
const unknownName = (name: string, known: ReadonlySet<string>, what: string): string => {
  const near = nearNames(name, known).map(each => `'${each}'`)
  const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : `. Known: ${[...known].join(', ')}.`
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

/** What is wrong with how long somebody would wait, as a sentence. A text is no time: what adds to it would make '500' something else. */
export const wrongWait = ({ timeoutMs, signal }: { timeoutMs?: unknown; signal?: unknown }): string | undefined => {
  if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs)))
    return `timeoutMs must be a number of milliseconds, not ${shown(timeoutMs)}.`
  if (!signal || isSignal(signal)) return undefined
  const hint = isSignal((signal as Partial<AbortController>).signal) ? '; pass the signal of the controller' : ''
  return `signal must be an AbortSignal, not ${shown(signal)}${hint}.`
}

/** @throws HubError InvalidArgs that begins with `of` */
export const refuseWait = (of: string, options: { timeoutMs?: unknown; signal?: unknown }): void => {
  const wrong = wrongWait(options)
  if (wrong !== undefined) throw new HubError('InvalidArgs', `${of}: ${wrong}`)
}

/** Of this realm, or of a package that stands in for it. */
const isSignal = (given: unknown): boolean => typeof (given as AbortSignal | undefined)?.addEventListener === 'function'
