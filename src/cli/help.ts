import { settingsTable, variableOf } from '../settings/read.ts'
import { version } from '../wire/version.ts'
import { optionsOf } from './arguments.ts'
import type { Command, Option } from './command.ts'
import type { Sink } from './output.ts'

const usualExitCodes: Record<number, string> = {
  0: 'success',
  1: 'it failed',
  2: 'the command line or a setting is wrong',
  3: 'Redis could not be reached',
}

/** Longer lines are hard to read, however wide the terminal is. */
const readableWidth = 100

/** Writes the overview: what pshub is, its commands, and where to go from there. */
export const writeOverview = (sink: Sink, commands: readonly Command[]): void => {
  const title = (text: string) => sink.paint('bold', text)
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = [
    `pshub ${version}: remote calls and background jobs over Redis.`,
    '',
    `${title('Usage:')} pshub <command> [arguments] [options]`,
    '',
    title('Commands:'),
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    `  ${'help'.padEnd(width)}  show this, or the help of one command`,
    '',
    title('First steps:'),
    '  pshub check                              check this Redis',
    '  pshub worker ./tasks.mjs                 serve the tasks that a module exports',
    '  pshub tasks                              list them',
    `  pshub call add:1.0 '{"a":1,"b":2}'       call one`,
    '',
    'Every command takes --redis (or PSHUB_REDIS), --namespace and --config.',
    'Help for a command: pshub help <command>',
  ]
  for (const line of lines) sink.line(line)
}

/** Writes all there is to know of one command. */
export const writeHelp = (sink: Sink, command: Command): void => {
  const title = (text: string) => sink.paint('bold', text)
  const width = Math.max(40, Math.min(sink.width ?? readableWidth, readableWidth))
  const options = optionsOf(command)
  const lines = [
    `${title('Usage:')} pshub ${command.usage} [options]`,
    ...command.about.flatMap(paragraph => ['', ...wrapped(paragraph, width)]),
    '',
    title('Options:'),
    ...aligned(
      options.map(option => [spelled(option), explained(option)]),
      width,
    ),
    '',
    title('Examples:'),
    ...command.examples.flatMap(({ line, about }) => [`  # ${about}`, `  ${line}`]),
    '',
    title('Exit codes:'),
    ...aligned(Object.entries(command.exitCodes ?? usualExitCodes), width),
    '',
    title('Environment:'),
    ...aligned(environmentOf(options), width),
    '',
    ...wrapped('Precedence: flag, environment, the file of --config, default.', width),
  ]
  for (const line of lines) sink.line(line)
}

const wrapped = (paragraph: string, width: number): string[] => {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Two columns, of which the second one is wrapped. */
const aligned = (pairs: [string, string][], width: number): string[] => {
  const leftWidth = Math.max(...pairs.map(([left]) => left.length))
  const rightWidth = Math.max(20, width - leftWidth - 4)
  return pairs.flatMap(([left, right]) =>
    wrapped(right, rightWidth).map((line, at) => `  ${(at === 0 ? left : '').padEnd(leftWidth)}  ${line}`),
  )
}

const spelled = ({ flag, short, value, isOptional }: Option): string => {
  const taken = value === undefined ? '' : isOptional ? `[=<${value}>]` : ` <${value}>`
  return `${short ? `-${short}, ` : ''}--${flag}${taken}`
}

const explained = ({ about, setting, fallback }: Option): string => {
  const ofSetting = setting === undefined ? undefined : settingsTable[setting].fallback
  const shown = fallback ?? (typeof ofSetting === 'function' ? undefined : ofSetting)
  return shown === undefined ? about : `${about} (default ${shown})`
}

/** Names of settings in a file are those of the code: help names the variable and what it gives. */
const environmentOf = (options: Option[]): [string, string][] => [
  ...options.flatMap(({ flag, setting }): [string, string][] => {
    if (setting === undefined) return []
    const variable = variableOf(setting)
    const unit = variable.endsWith('_MS') ? ', in milliseconds' : ''
    return [[variable, `as --${flag}${unit}; '${setting}' in a file`]]
  }),
  ['NO_COLOR, FORCE_COLOR', 'never or always use colours (default: on a terminal)'],
]
