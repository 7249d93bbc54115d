import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError, messageOf } from '../wire/errors.ts'
import { wrongOptions } from '../wire/options.ts'
import { type Settings, type SettingsUser, settingsTable } from './table.ts'

export { type MeasuringSetting, measuringSettings, type Settings, settingsTable } from './table.ts'

/** Sources of settings, strongest first. `flags` are texts as typed; `options` are values from code. */
export interface Sources {
  options?: object
  /** Names of options that are not settings. */
  others?: readonly string[]
  flags?: Record<string, string | undefined>
  env?: Record<string, string | undefined>
  /** Path of a JSON file with settings by their names. */
  file?: string | undefined
  /** Base of a relative path of that file. Default: the working directory of the process. */
  folder?: string
  /** Replace the defaults of the table. */
  defaults?: Partial<Settings>
}

/**
 * Reads and checks all settings of one user.
 *
 * @throws ConfigError with the setting, the source of its value, and what would be valid
 */
export const readSettings = (user: SettingsUser, sources: Sources): Readonly<Settings> => {
  const fromFile = sources.file === undefined ? {} : readFile(sources.file, sources.folder)
  const names = (Object.keys(settingsTable) as (keyof Settings)[]).filter(name =>
    settingsTable[name].users.includes(user),
  )
  refuseUnknown([...names, ...(sources.others ?? [])], sources.options ?? {}, 'option')
  refuseUnknown(Object.keys(settingsTable), fromFile, `setting in ${sources.file}`)
  const settings: Record<string, unknown> = {}
  for (const name of names) {
    const { value, origin, text } = pick(name, sources, fromFile)
    const { check, isSecret } = settingsTable[name]
    // Only a default is undefined: nothing is set.
    const wrong = value === undefined ? undefined : check(value)
    if (wrong) throw new ConfigError(`${origin} ${wrong}${isSecret ? '' : `; it is ${JSON.stringify(text ?? value)}`}.`)
    settings[name] = value
  }
  return Object.freeze(settings) as unknown as Readonly<Settings>
}

const pick = (
  name: keyof Settings,
  sources: Sources,
  fromFile: Record<string, unknown>,
): { value: unknown; origin: string; text?: string } => {
  const setting = settingsTable[name]
  const option: unknown = (sources.options as Partial<Settings> | undefined)?.[name]
  if (option !== undefined) return { value: option, origin: `option '${name}'` }
  const flag = sources.flags?.[name]
  if (flag !== undefined) return { value: setting.parse(flag), origin: `--${flagOf(name)}`, text: flag }
  const variable = variableOf(name)
  const inEnv = variableIn(sources.env ?? {}, variable)
  if (inEnv !== undefined) return { value: setting.parse(inEnv), origin: variable, text: inEnv }
  const inFile = fromFile[name]
  const origin = `'${name}' in ${sources.file}`
  if (inFile !== undefined) return { value: typeof inFile === 'string' ? trimmed(inFile, origin) : inFile, origin }
  const fallback = sources.defaults?.[name] ?? setting.fallback
  return { value: typeof fallback === 'function' ? fallback() : fallback, origin: `'${name}'` }
}

/**
 * A variable of the environment; undefined when it is not set, or empty.
 * @throws ConfigError
 */
export const variableIn = (env: Record<string, string | undefined>, name: string): string | undefined =>
  trimmed(env[name] ?? '', name) || undefined

/** Without the line break that a file of secrets ends with. Quotes are a part of it: whatever read the file kept them. */
const trimmed = (given: string, origin: string): string => {
  const text = given.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, '')
  if (/^(["']).*\1$/s.test(text)) throw new ConfigError(`${origin} has quotes around its value; leave them out.`)
  return text
}

/** maxPayloadBytes -> max-payload-bytes */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** maxPayloadBytes -> PSHUB_MAX_PAYLOAD_BYTES; with REGISTRY_ in between for what only the registry's service uses. */
export const variableOf = (name: keyof Settings): string => {
  const isRegistrys = settingsTable[name].users.every(user => user === 'registry')
  return `PSHUB_${isRegistrys ? 'REGISTRY_' : ''}${flagOf(name).replaceAll('-', '_').toUpperCase()}`
}

const refuseUnknown = (known: string[], given: unknown, what: string): void => {
  const wrong = wrongOptions(given, new Set(known), what)
  if (wrong !== undefined) throw new ConfigError(`${wrong[0]!.toUpperCase()}${wrong.slice(1)}`)
}

const readFile = (path: string, folder = '.'): Record<string, unknown> => {
  try {
    const value = JSON.parse(readFileSync(resolve(folder, path), 'utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (error) {
    throw new ConfigError(`The settings file ${path} cannot be read: ${messageOf(error)}`)
  }
  throw new ConfigError(`The settings file ${path} must hold a JSON object.`)
}
