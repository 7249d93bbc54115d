// pshub as a user runs it: schemas checked on both sides, leases, tracked both ways, figures published.
import { defineTask, Hub, Worker } from '../../dist/index.js'

const schema = {
  type: 'object',
  properties: { x: { type: 'integer' }, fill: { type: 'string' } },
  required: ['x'],
  additionalProperties: false,
}
const options = { args: schema, result: schema }
const blank = defineTask('blank:1.0', options, args => args)
/** Never done before its caller's deadline: fills slots and backlogs. */
const stuck = defineTask(
  'stuck:1.0',
  options,
  (_, { signal }) => new Promise(resolve => signal.addEventListener('abort', resolve)),
)

const further = count =>
  Array.from({ length: count }, (_, at) => defineTask(`further_${at}:1.0`, options, args => args))

/** `tasks` is how many further ones the worker declares. */
export const startWorker = async ({ url, slots, queue = 'bench', tasks = 0, maxBacklog = 10_000 }) => {
  const worker = new Worker({
    redis: url,
    queue,
    slots,
    tasks: [blank, stuck, ...further(tasks)],
    maxPayloadBytes: 4_000_000,
    maxBacklog,
    // Some measurements end while calls run, which is what it would tell of.
    logLevel: 'error',
  })
  await worker.start()
  return { close: () => worker.stop({ graceMs: 0 }) }
}

export const startCaller = async ({ url, args, task = 'blank:1.0', timeoutMs = 20_000, maxBacklog = 100_000 }) => {
  const hub = new Hub({ redis: url, maxPayloadBytes: 4_000_000, maxBacklog })
  return { call: () => hub.call(task, args, { timeoutMs }), close: () => hub.close() }
}
