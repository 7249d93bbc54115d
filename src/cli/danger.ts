import { createInterface } from 'node:readline/promises'
import { UsageError } from './arguments.ts'
import type { Invocation } from './command.ts'
import { printable } from './printable.ts'

/** Why a task is dangerous, for people. */
export const aboutDanger = (danger: string | true): string =>
  danger === true ? 'yes: it needs a confirmation' : `yes: ${printable(danger)}`

/**
 * Goes on where the task is not dangerous, `--yes` was given, or somebody at a terminal types its name.
 * @throws UsageError otherwise
 */
export const askIfDangerous = async (
  danger: string | true | undefined,
  { flags, positionals, output: { err }, host }: Invocation,
  signal: AbortSignal,
): Promise<void> => {
  if (danger === undefined || flags.yes !== undefined) return
  const [task, args] = positionals
  const why = danger === true ? '' : `: ${printable(danger)}`
  const told = `${printable(task!)} is dangerous${why}`
  // Where the arguments come from stdin nobody can answer there.
  if (!host.stdin.isTTY || !err.isTerminal || args === '-')
    throw new UsageError(`${told.replace(/[.\s]*$/, '')}. To run it anyway, pass --yes.`, 'call')
  err.line(`${err.paint('yellow', 'warning')} ${told}`)
  // The terminal stays as it is, so that Ctrl-C is the signal that it always is.
  const lines = createInterface({ input: host.stdin, output: host.stderr, terminal: false })
  try {
    const typed = await lines.question('Type its name to run it: ', { signal })
    if (typed.trim() !== task) throw new UsageError('The name does not match: nothing was run.', 'call')
  } finally {
    lines.close()
  }
}
