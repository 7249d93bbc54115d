// Makes hubs and workers do what might end in a log, at level debug: the word SECRET is in all that must not.
import { defineTask, Hub, TaskError, Worker } from '../../dist/index.js'

const { PSHUB_REDIS: redis } = process.env
const secret = { SECRET: 'SECRET' }
const cycle = { SECRET: {} }
cycle.SECRET.SECRET = cycle

const object = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false }
const tasks = [
  defineTask('echo:1.0', {}, args => args),
  defineTask('strict:1.0', { args: object, result: object }, () => secret),
  defineTask('cycle:1.0', {}, () => cycle),
  defineTask('fails:1.0', {}, () => {
    throw new TaskError('the disk is full', { data: secret, cause: new Error('SECRET') })
  }),
  defineTask('throws:1.0', {}, () => {
    throw secret
  }),
  defineTask('speaks:1.0', {}, (_, ctx) => {
    ctx.log.info('half way', { rows: 10, args: secret, password: 'SECRET' })
    return ctx.call('echo:1.0', secret)
  }),
  defineTask('slow:1.0', {}, (_, ctx) => new Promise(done => ctx.signal.addEventListener('abort', () => done(secret)))),
]
const worker = new Worker({ redis, queue: 'q', tasks })
await worker.start()
const hub = new Hub({ redis })
// Connected, however long that takes on a busy machine.
while (!(await hub.tasks().catch(() => undefined)));
const outcomes = await Promise.allSettled([
  hub.call('echo:1.0', secret),
  ...tasks.slice(1).map(task => hub.call(task, secret, { timeoutMs: task.name.full === 'slow:1.0' ? 2000 : 10_000 })),
  hub.call('strict:1.0', { n: 1 }),
  hub.call('strict:1.0', { n: 'SECRET' }),
  hub.call('never:1.0', secret),
])
const codes = outcomes.map(({ reason }) => reason?.code ?? 'ok')
// A caller in another language looks at no schema, and may push anything.
const { Redis } = await import('ioredis')
const raw = new Redis(redis)
const calls = `${process.env.PSHUB_NAMESPACE}:{q}:calls`
await raw.rpush(calls, '{"SECRET":', '{"id":"raw","task":"strict:1.0","args":{"SECRET":"SECRET"}}')
await new Promise(done => worker.events.on('task:settled', ({ id }) => id === 'raw' && done()))
raw.disconnect()
const stranger = new Hub({ redis: redis.replace(/:[^:@]*@/, ':SECRET-too@') })
await stranger.call('echo:1.0', secret).catch(error => codes.push(error.code))
await Promise.all([stranger.close(), hub.close(), worker.stop()])
process.stdout.write(JSON.stringify(codes))
