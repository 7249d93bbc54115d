import { command } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { ConfigError } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'
import { nearNames } from '../wire/text/near-names.ts'
import { furtherField } from './cards.ts'
import { readOverview, type TaskOverview } from './overview.ts'

/**
 * Removes the cards of tasks that nobody provides any more, in all queues: they are listed no longer, and calls of them fail as
 * NoSuchTask. All of them or, where one cannot be forgotten, none. A worker that comes with one later declares it anew.
 * @param names full names, as resize:1.0
 * @throws ConfigError for a name that no card has, and for a task of which a worker lives
 */
export const forgetTasks = async (
  connection: Pick<Connection, 'send'>,
  keys: Keys,
  names: readonly string[],
): Promise<void> => {
  const { tasks } = await connection.send(client => readOverview(client, keys))
  const fields = names.flatMap(name => fieldsOf(name, tasks))
  await connection.send(client => command(client, 'hdel', keys.tasks, ...fields))
}

const fieldsOf = (name: string, tasks: readonly TaskOverview[]): string[] => {
  const found = tasks.find(({ task }) => task === name)
  if (!found) {
    const near = nearNames(
      name,
      tasks.map(({ task }) => task),
    )
    const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ' pshub tasks lists them.'
    throw new ConfigError(`There is no task '${name}'.${hint}`)
  }
  const { workers, queues } = found
  if (workers.length > 0) {
    const living = workers.length === 1 ? 'a live worker' : `${workers.length} live workers`
    throw new ConfigError(`${name} was not removed: ${living} would declare it again. Stop the workers first.`)
  }
  return queues.map(({ queue, first }) => (first ? name : furtherField(name, queue)))
}
