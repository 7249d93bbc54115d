import type { Settings } from '../settings/read.ts'
import type { Host } from './host.ts'
import type { Output } from './output.ts'

/** An option as it is parsed and as help shows it. */
export interface Option {
  /** Long name, without the dashes. */
  flag: string
  short?: string
  /** What stands for its value in help; a switch has none. */
  value?: string
  about: string
  /** The setting it gives; help then shows the setting's variable and default too. */
  setting?: keyof Settings
  /** It may be given alone, and then is an empty text; a value is only taken behind a `=`. */
  isOptional?: boolean
  /** It may be given several times; the values come to one text, with commas. */
  isList?: boolean
  /** Its value is a duration like 2s. */
  isDuration?: boolean
  /** The default as help shows it, where the setting does not say it well. */
  fallback?: string
}

/** A command line, parsed. */
export interface Invocation {
  positionals: string[]
  /** Texts of options as typed, by flag; switches that were given are 'true'. */
  flags: Readonly<Record<string, string>>
  output: Output
  host: Host
  /** All commands there are. */
  commands(): Promise<Command[]>
}

export interface Command {
  name: string
  /** What follows `pshub `. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Paragraphs that teach it. */
  about: string[]
  /** How many arguments it takes, options apart, and what the first missing one is. */
  arity: { min: number; max: number; missing?: string }
  options: Option[]
  /** Its arguments are names of tasks, which shells complete. */
  takesTasks?: boolean
  /** Ids are among its arguments: they may look like options. */
  takesIds?: boolean
  examples: { line: string; about: string }[]
  /** What its exit codes mean, where they are not the usual ones. */
  exitCodes?: Record<number, string>
  /** Resolves with the exit code; a rejection is reported and gives its own. */
  run(invocation: Invocation): Promise<number>
}
