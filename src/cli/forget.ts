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
  else output.out.line(`Deleted: ${names.join(', ')}. A worker that has one of them declares it again.`)
  return exitCodes.ok
}

export const forgetCommand: Command = {
  name: 'forget',
  usage: 'forget <task...>',
  summary: 'delete tasks without workers from the registry',
  about: [
    'Deletes tasks from the registry by their full names. If one of them has a live worker, nothing is deleted. ' +
      'Calls then fail with NoSuchTask instead of NoWorkers. Requests that wait in the queue stay there.',
    'This is optional: a task is deleted a day after its last worker has stopped, and a task whose workers stopped ' +
      'normally counts as retired, not as a problem.',
  ],
  arity: { min: 1, max: Number.POSITIVE_INFINITY, missing: 'the full name of a task, as in: pshub forget resize:1.0' },
  options: [jsonOption],
  examples: [
    { line: 'pshub forget resize:1.0', about: 'a version that is no longer used' },
    { line: "pshub forget $(pshub tasks --json | jq -r '.[] | select(.retired) | .task')", about: 'all retired tasks' },
  ],
  exitCodes: {
    0: 'deleted',
    1: 'Redis rejected: this user lacks the right',
    2: 'no task has this name, or a live worker provides it',
    3: 'Redis could not be reached',
  },
  run,
}
