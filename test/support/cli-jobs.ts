import { makeKeys } from '../../src/wire/keys.ts'
import type { Cli } from './cli-fixture.ts'
import { eventually } from './hub-fixture.ts'

/** The keys of a queue, `default` unless another is named. */
export const keysOf = (cli: Cli, queue = 'default') => makeKeys(cli.namespace).queue(queue)

/** Has the tasks declared by a worker that has left. */
export const declared = async (cli: Cli): Promise<void> => (await cli.worker()).stop()

/** Dead, scheduled, retrying and waiting jobs of a queue that no worker serves any more. */
export const someOfEach = async (cli: Cli): Promise<void> => {
  const { run } = cli
  const { dead, retries } = keysOf(cli)
  const worker = await cli.worker()
  for (const tries of ['0', '0', '5']) await run(['enqueue', 'fail', '--retries', tries, '--backoff', '1h'])
  await eventually(async () => (await cli.redis.zcard(dead)) === 2)
  await eventually(async () => (await cli.redis.zcard(retries)) === 1)
  await worker.stop()
  await run(['enqueue', 'add', '{"a":1}', '--delay', '2h'])
  await run(['enqueue', 'add', '{"a":2}', '--priority', 'high'])
}
