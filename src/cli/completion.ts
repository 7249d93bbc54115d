import { optionsOf, settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { readRegistry } from './registry.ts'

/** What each shell runs: it asks this command for the words that fit, so that nothing has to be made anew with a new version. */
const scripts: Record<string, string> = {
  bash: `# Completion of pshub for bash: source <(pshub completion bash)
_pshub() {
  local line="\${COMP_LINE:0:COMP_POINT}" word
  local -a words
  read -ra words <<<"$line"
  [[ "$line" == *' ' ]] && words+=('')
  # Names of tasks have a colon, at which bash ends a word.
  word="\${words[\${#words[@]}-1]}"
  local before=''
  [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]] && before="\${word%"\${word##*:}"}"
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("\${word#"$before"}"); done < <(pshub completion words -- "\${words[@]:1}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null
}
complete -F _pshub pshub`,
  zsh: `#compdef pshub
# Completion of pshub for zsh: source <(pshub completion zsh)
_pshub() {
  local -a fitting
  fitting=("\${(@f)$(pshub completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${fitting[1]}" ]]; then compadd -- "\${fitting[@]}"; else _files; fi
}
compdef _pshub pshub`,
  fish: `# Completion of pshub for fish: pshub completion fish | source
complete -c pshub -a '(pshub completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
}

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, output } = invocation
  const [shell, ...typed] = positionals as [string, ...string[]]
  if (shell === 'words') {
    for (const word of await fitting(typed, invocation)) output.out.line(word)
    return exitCodes.ok
  }
  const script = scripts[shell]
  if (script === undefined || typed.length > 0)
    throw new UsageError(`Completion is available for ${Object.keys(scripts).join(', ')}.`, 'completion')
  output.out.line(script)
  return exitCodes.ok
}

/** The words that may stand where the last one does, which begin as that does. */
const fitting = async (typed: readonly string[], invocation: Invocation): Promise<string[]> => {
  const current = typed.at(-1) ?? ''
  const commands = await invocation.commands()
  const begins = (words: readonly string[]) => words.filter(word => word.startsWith(current))
  const names = commands.map(({ name }) => name)
  if (typed.length < 2) return begins([...names, 'help'])
  if (typed[0] === 'help') return typed.length === 2 ? begins(names) : []
  const command = commands.find(({ name }) => name === typed[0])
  if (!command) return []
  const options = optionsOf(command)
  const before = options.find(({ flag }) => `--${flag}` === typed.at(-2))
  if (before?.value !== undefined && !before.isOptional) return []
  if (current.startsWith('-')) return begins(options.map(({ flag }) => `--${flag}`))
  return command.takesTasks ? begins(await liveTasks(typed, invocation)) : []
}

/** Those of the Redis that the line names. Who presses Tab is not told that it is away. */
const liveTasks = async (typed: readonly string[], { flags, host }: Invocation): Promise<string[]> => {
  const given = (flag: string) => {
    const at = typed.indexOf(`--${flag}`)
    return at === -1 ? undefined : typed[at + 1]
  }
  const named = Object.fromEntries(
    ['redis', 'namespace', 'config'].flatMap(flag => (given(flag) === undefined ? [] : [[flag, given(flag)!]])),
  )
  try {
    const settings = settingsOf('hub', completionCommand, { flags: { ...flags, ...named }, host }, 'silent')
    const { tasks } = await readRegistry(settings)
    return tasks.filter(({ workers }) => workers.length > 0).map(({ task }) => task)
  } catch {
    return []
  }
}

export const completionCommand: Command = {
  name: 'completion',
  usage: 'completion <bash | zsh | fish>',
  summary: 'print the completion script for your shell',
  about: [
    'Prints a script that completes commands, options and the names of live tasks when you press Tab. Add the line ' +
      'to the startup file of your shell. pshub must be on the PATH: npm install -g pshub, or add its folder.',
    'Task names come from the Redis of the command line or the environment.',
  ],
  arity: { min: 1, max: 1000, missing: 'a shell: bash, zsh or fish' },
  options: [],
  examples: [
    { line: 'source <(pshub completion bash)', about: 'in ~/.bashrc' },
    { line: 'source <(pshub completion zsh)', about: 'in ~/.zshrc, after compinit' },
    { line: 'pshub completion fish | source', about: 'in ~/.config/fish/config.fish' },
  ],
  run,
}
