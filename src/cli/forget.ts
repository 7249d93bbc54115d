import { forgetTasks } from '../catalogue/forgetting.ts'
import { makeKeys } from '../wire/keys.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { withRedis } from './redis-session.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', forgetCommand, invocation, 'silent')
  const names = [...new Set(positionals)]
  await withRedis(settings, connection => forgetTasks(connection, makeKeys(settings.namespace), names))
  if (flags.json !== undefined) output.json({ forgotten: names })
  else output.out.line(`Forgotten: ${names.join(', ')}. A worker that has one of them declares it again.`)
  return exitCodes.ok
}

export const forgetCommand: Command = {
  name: 'forget',
  usage: 'forget <task...>',
  summary: 'take tasks that nobody provides any more out of the list',
  about: [
    'Removes what the registry knows of tasks, by their full names. All of them or, where one of them cannot be forgotten, none: ' +
      'one that a live worker provides is not. Calls of it fail as NoSuchTask then, and no longer as NoWorkers. What waits in its ' +
      'queue stays there.',
    'Nobody has to: a day after its last worker a task is forgotten in any case, and one whose workers have left counts as ' +
      'retired and as no problem.',
  ],
  arity: { min: 1, max: Number.POSITIVE_INFINITY, missing: 'the full name of a task, as in: pshub forget resize:1.0' },
  options: [jsonOption],
  examples: [
    { line: 'pshub forget resize:1.0', about: 'a version that is not used any more' },
    { line: "pshub forget $(pshub tasks --json | jq -r '.[] | select(.retired) | .task')", about: 'all that retired' },
  ],
  exitCodes: {
    0: 'they are forgotten',
    1: 'Redis refused: this user lacks the right',
    2: 'no task has this name, or a live worker provides it',
    3: 'Redis could not be reached',
  },
  run,
}
