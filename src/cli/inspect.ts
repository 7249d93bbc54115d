import type { WorkerOverview } from '../catalogue/overview.ts'
import { readWorkerLook, type WorkerLook } from '../figures/worker-look.ts'
import { askedForMs, askWorker } from '../queue/inspect.ts'
import { ConfigError, HubError } from '../wire/errors.ts'
import { Unreadable } from '../wire/foreign.ts'
import { newId } from '../wire/ids.ts'
import { makeKeys } from '../wire/keys.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { lookLines } from './look-text.ts'
import { jsonOption } from './options.ts'
import { withRedis } from './redis-session.ts'
import { readRegistry } from './registry.ts'
import { shortId } from './workers.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output, positionals } = invocation
  const settings = settingsOf('hub', inspectCommand, invocation, 'silent')
  const { workers } = await readRegistry(settings)
  const keys = makeKeys(settings.namespace)
  const asked = workersOf(workers, positionals[0]!)
  for (const worker of asked) refuseDeaf(worker)
  const looks = await withRedis(settings, connection =>
    Promise.all(
      asked.map(async ({ id, queue }) => {
        const answer = await askWorker(connection, keys.queue(queue), id, newId())
        if (answer === undefined) throw unanswered(id)
        return lookOf(id, answer)
      }),
    ),
  )
  if (flags.json !== undefined) output.json(looks)
  else for (const line of looks.flatMap(lookLines)) output.out.line(line)
  return exitCodes.ok
}

/** Clients of these languages do not answer. One of a language that is not known here may. */
const deafClients = /^pshub-(python|ruby)\//

const refuseDeaf = ({ id, client, host, pid }: WorkerOverview): void => {
  const [, language] = deafClients.exec(client) ?? []
  if (language === undefined) return
  throw new ConfigError(
    `Worker ${shortId(id)} is written in ${language === 'python' ? 'Python' : 'Ruby'}, and only workers in Node answer pshub inspect. On ${host} run: kill -TTIN ${pid}`,
  )
}

/** Anybody may have answered. */
const lookOf = (id: string, answer: string): WorkerLook => {
  try {
    return readWorkerLook(answer)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    throw new Unreadable(`The answer of worker ${shortId(id)} is invalid: ${error.message}.`)
  }
}

const unanswered = (id: string): HubError =>
  new HubError(
    'Timeout',
    `Worker ${shortId(id)} did not answer within ${askedForMs / 1000} s. It may be cut off from Redis, stopped (SIGSTOP) or blocked inside native code. On its host run: kill -TTIN <pid>`,
  )

/** A process of several queues is a worker for each of them. @throws HubError where there is none, or several processes */
const workersOf = (workers: WorkerOverview[], name: string): WorkerOverview[] => {
  const found = workers.filter(({ id, host, pid }) => id.startsWith(name) || `${host}/${pid}` === name)
  const live = found.filter(worker => worker.live)
  const [first] = live
  if (first && live.every(({ host, pid }) => host === first.host && pid === first.pid)) return live
  const known = workers.filter(worker => worker.live).map(({ id, host, pid }) => `${shortId(id)} (${host}/${pid})`)
  const there = known.length === 0 ? 'No worker is live.' : `Live workers: ${known.slice(0, 20).join(', ')}.`
  if (live.length > 1) throw new HubError('NoWorkers', `'${name}' matches ${live.length} workers. ${there}`)
  const lost = found.length > 0 ? `The worker '${name}' is lost: its lease expired.` : `There is no worker '${name}'.`
  throw new HubError('NoWorkers', `${lost} ${there}`)
}

export const inspectCommand: Command = {
  name: 'inspect',
  usage: 'inspect <worker>',
  summary: 'show what a worker is running',
  about: [
    'Asks a running worker, through Redis, what its slots run: task, id, how long, which attempt, and the last ' +
      'activity seen. That is the last nested call or log line: Node does not show where an async function waits. If ' +
      'the event loop is blocked, a helper thread answers with the stack of the blocking code.',
    'The worker answers with its next heartbeat, within two seconds; the command times out after ' +
      `${askedForMs / 1000} s. On the host of the worker, kill -TTIN <pid> writes the same to its stderr.`,
  ],
  arity: { min: 1, max: 1, missing: 'the worker: the beginning of its id or host/pid, as pshub workers shows them' },
  takesIds: true,
  options: [jsonOption],
  examples: [
    { line: 'pshub inspect 4kHfQp2x', about: 'by the beginning of its id' },
    { line: 'pshub inspect web-1/4711 --json', about: 'by host and pid, as JSON' },
  ],
  exitCodes: {
    0: 'it answered',
    1: 'Redis refused',
    2: 'the command line or a setting is wrong, or the worker is written in Python or Ruby',
    3: 'there is no such worker, or Redis could not be reached',
    4: 'it did not answer',
  },
  run,
}
