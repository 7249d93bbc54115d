import { parseArgs } from 'node:util'
import { readSettings, type Settings, settingsTable } from '../settings/read.ts'
import { ConfigError } from '../wire/errors.ts'
import { nearNames } from '../wire/text/near-names.ts'
import type { Command, Invocation, Option } from './command.ts'
import { devDefaults } from './dev-file.ts'
import { parseDuration } from './duration.ts'
import { commonOptions } from './options.ts'

/** A command line that cannot be understood; its help is offered with the message. */
export class UsageError extends ConfigError {
  readonly command: string | undefined

  constructor(message: string, command?: string) {
    super(message)
    this.command = command
  }
}

export const optionsOf = ({ options }: Command): Option[] => [
  ...options,
  ...commonOptions.filter(common => !options.some(({ flag }) => flag === common.flag)),
]

/** Options and arguments of one command. Throws UsageError. */
export const parseCommandLine = (command: Command, argv: string[]): Pick<Invocation, 'positionals' | 'flags'> => {
  const options = optionsOf(command)
  // Not strict, because strict messages neither know a near name nor say what the command is about.
  const { rest, ids } = command.takesIds ? dashedIdsApart(argv, options) : { rest: argv, ids: [] }
  const { tokens } = parseArgs({
    args: rest,
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      options.map(({ flag, short, value, isOptional }) => [
        flag,
        {
          type: value === undefined || isOptional ? ('boolean' as const) : ('string' as const),
          ...(short ? { short } : {}),
        },
      ]),
    ),
  })
  const flags: Record<string, string> = {}
  const positionals: string[] = [...ids]
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const text = textOf(token, command, options)
    const isFurther = flags[token.name] !== undefined && options.some(each => each.flag === token.name && each.isList)
    flags[token.name] = isFurther ? `${flags[token.name]},${text}` : text
  }
  if (flags.help === undefined) checkCount(positionals, command)
  return { positionals, flags }
}

/** One id in 64 begins with a dash; steps of a chain have its id with their number. Behind an option that takes a value it is made part of it; others are taken out. */
const dashedIdsApart = (argv: string[], options: Option[]): { rest: string[]; ids: string[] } => {
  const rest: string[] = []
  const ids: string[] = []
  for (const word of argv) {
    const isId = /^-[\w-]{21}(-\d+)?$/.test(word) && !options.some(({ flag }) => word === `--${flag}`)
    const before = rest.at(-1)
    if (!isId) rest.push(word)
    else if (options.some(({ flag, isList }) => isList && before === `--${flag}`)) rest[rest.length - 1] += `=${word}`
    else ids.push(word)
  }
  return { rest, ids }
}

interface OptionToken {
  name: string
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

const textOf = (token: OptionToken, command: Command, options: Option[]): string => {
  const { name, rawName, value, inlineValue } = token
  const option = options.find(({ flag }) => flag === name)
  if (!option) throw new UsageError(unknownOption(rawName, command, options), command.name)
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`, command.name)
    return 'true'
  }
  if (option.isOptional && value === undefined) return ''
  const swallowed = !inlineValue && value !== undefined && value.startsWith('-') && value !== '-'
  if (value === undefined || value === '' || swallowed) {
    throw new UsageError(`${rawName} needs a value: ${rawName} <${option.value}>.`, command.name)
  }
  return value
}

const unknownOption = (rawName: string, command: Command, options: Option[]): string => {
  const near = nearNames(
    rawName.replace(/^-+/, ''),
    options.map(({ flag }) => flag),
  )
  const hint = near.length > 0 ? ` Did you mean ${near.map(flag => `--${flag}`).join(' or ')}?` : ''
  const negative = /^-\d/.test(rawName) ? ` Put an argument that starts with - after --.` : ''
  return `pshub ${command.name} has no option ${rawName}.${hint}${negative}`
}

const checkCount = (positionals: string[], command: Command): void => {
  const { min, max, missing } = command.arity
  if (positionals.length < min) throw new UsageError(`pshub ${command.name} needs ${missing}.`, command.name)
  if (positionals.length <= max) return
  const extra = positionals[max]!
  const takes = max === 0 ? 'no arguments' : `at most ${max} ${max === 1 ? 'argument' : 'arguments'}`
  const isQueue = max === 0 && command.options.some(({ flag }) => flag === 'queue')
  const hint = isQueue ? ' Pass a queue with --queue.' : ''
  throw new UsageError(`pshub ${command.name} takes ${takes}; '${extra}' is one too many.${hint}`, command.name)
}

/**
 * The settings of one run: flag, environment, file, default.
 *
 * @param logLevel what this command logs when nobody says
 * @param defaults what else it has then
 * @throws ConfigError
 */
export const settingsOf = (
  user: 'hub' | 'worker' | 'registry',
  command: Command,
  { flags, host }: Pick<Invocation, 'flags' | 'host'>,
  logLevel: string,
  defaults: Partial<Settings> = {},
): Readonly<Settings> => {
  const texts: Record<string, string> = {}
  for (const option of optionsOf(command)) {
    const text = flags[option.flag]
    if (option.setting !== undefined && text !== undefined) texts[option.setting] = settingText(option, text)
  }
  return readSettings(user, {
    flags: texts,
    env: host.env,
    file: flags.config,
    folder: host.cwd,
    defaults: { logLevel, ...devDefaults(host.cwd), ...defaults },
  })
}

/** Durations become the milliseconds that settings are in, and are checked here so that the message names the flag. */
const settingText = (option: Option, text: string): string => {
  if (!option.isDuration) return text
  const ms = parseDuration(text, `--${option.flag}`)
  const wrong = settingsTable[option.setting!].check(ms)
  if (wrong) throw new ConfigError(`--${option.flag} ${wrong} milliseconds; it is ${ms}.`)
  return String(ms)
}
