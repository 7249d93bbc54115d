// Faults in which Redis answers, but refuses.
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unreachable, waited } from './connections.mjs'

const secret = 'canary-7f3a'
const config = (stage, name, value) => stage.redis.config('SET', name, value)

/** Things that somebody pushed onto the list by hand. None of them may hurt anybody. */
const hostile = stage => {
  const id = `hand-${stage.integer(1, 1e9)}`
  const request = fields => JSON.stringify({ id, task: 'once:1.0', args: { token: id, ms: 1, pad: '' }, ...fields })
  return [
    'not json',
    '',
    '[]',
    'null',
    '{"at":1,"ttl":1,"id":"',
    request({ task: undefined }),
    request({ result_queue: 'evil:list' }),
    request({ result_queue: 'pshub:{q}:calls' }),
    request({ result_queue: 'pshub:reply:{a}b}' }),
    request({ args: '['.repeat(1e5) }),
    `{"id":"${id}","task":"once:1.0","args":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
    `{"id":"${id}","task":"once:1.0","args":{"__proto__":{"ms":1}}}`,
    request({ id: 'x'.repeat(1000) }),
    request({ id: 'a b' }),
    request({ ttl: -1, at: 'yesterday' }),
    request({}),
  ]
}

export const refusalRows = [
  {
    id: 'F19',
    title: 'the library forgotten 3 times a second (FUNCTION FLUSH)',
    inject: stage => stage.repeat(300, () => stage.redis.function('FLUSH')),
    expect: { promised: 'all' },
  },
  {
    id: 'F19-denied',
    title: 'the library forgotten for 2 s, and nobody may load it',
    faultMs: 2000,
    async inject(stage) {
      await stage.redis.call('ACL', 'SETUSER', 'default', '-function|load')
      await stage.redis.function('FLUSH')
    },
    heal: stage => stage.redis.call('ACL', 'SETUSER', 'default', '+function|load'),
    expect: { allowed: ['NotEnqueued', ...waited] },
  },
  {
    id: 'F21',
    title: 'redis full for 5 s (maxmemory reached)',
    faultMs: 5000,
    inject: stage => config(stage, 'maxmemory', '100kb'),
    heal: stage => config(stage, 'maxmemory', '0'),
    expect: { allowed: ['NotEnqueued', 'Overloaded'] },
  },
  {
    id: 'F22',
    title: 'a worker that starts on a redis that evicts',
    faultMs: 1000,
    async inject(stage) {
      await config(stage, 'maxmemory-policy', 'allkeys-lru')
      stage.late = await stage.addWorker()
      await stage.late.exited
    },
    heal: stage => config(stage, 'maxmemory-policy', 'noeviction'),
    check: stage =>
      stage
        .events()
        .some(({ by, e, message }) => by === stage.late.name && e === 'refused' && /allkeys-lru/.test(message))
        ? []
        : [{ invariant: 'refusal', what: 'the worker started' }],
    expect: { promised: 'all' },
  },
  {
    id: 'F23',
    title: "results beyond the limits, and beyond redis' output buffer",
    load: {
      perSecond: 100,
      special: [
        { share: 0.02, act: { do: 'big', chars: 2_000_000 } },
        { share: 0.02, act: { do: 'big', chars: 400_000 } },
      ],
    },
    inject: stage => config(stage, 'client-output-buffer-limit', 'normal 1mb 0 0'),
    heal: stage => config(stage, 'client-output-buffer-limit', 'normal 0 0 0'),
    expect: {
      promised: 'all',
      isRight: ({ act, code }) => (act?.chars > 1e6 ? code === 'InvalidResult' : code === 'OK'),
      linesPerSecond: 20,
    },
  },
  {
    id: 'F24',
    title: 'arguments beyond the limits',
    load: { perSecond: 100, special: [{ share: 0.03, chars: [1_050_000, 2_000_000], act: { do: 'large' } }] },
    inject: stage => config(stage, 'proto-max-bulk-len', '1048576'),
    heal: stage => config(stage, 'proto-max-bulk-len', '536870912'),
    expect: {
      promised: 'all',
      isRight: ({ act, code }) => code === (act ? 'PayloadTooLarge' : 'OK'),
      reconnectsPerSecond: 1,
    },
  },
  {
    id: 'F25',
    title: 'redis cannot save and refuses all writes (MISCONF)',
    faultMs: 6000,
    async inject(stage) {
      // Its dump cannot be renamed to a name that a folder has.
      mkdirSync(join(stage.server.dir, 'dump.rdb'))
      await config(stage, 'save', '3600 1')
      await stage.redis.bgsave()
    },
    async heal(stage) {
      await config(stage, 'save', '')
      rmdirSync(join(stage.server.dir, 'dump.rdb'))
    },
    expect: { allowed: [...unreachable, 'NoWorkers', 'WorkerLost'] },
  },
  {
    id: 'F26',
    title: 'password changed, connections killed, password back',
    target: (_, { port }) => ({ port, host: '127.0.0.1', username: 'app', password: secret }),
    faultMs: 5000,
    prepare: stage => stage.redis.call('ACL', 'SETUSER', 'app', 'on', `>${secret}`, '~*', '&*', '+@all'),
    async inject(stage) {
      await stage.redis.call('ACL', 'SETUSER', 'app', 'resetpass', '>another')
      await stage.redis.client('KILL', 'USER', 'app')
    },
    heal: stage => stage.redis.call('ACL', 'SETUSER', 'app', 'resetpass', `>${secret}`),
    check: stage =>
      readdirSync(stage.folder)
        .filter(name => readFileSync(join(stage.folder, name), 'utf8').includes(secret))
        .map(name => ({ invariant: 'I18', what: `the password is in ${name}` })),
    expect: { allowed: [...unreachable, 'NoWorkers', 'WorkerLost'] },
  },
  {
    id: 'F27',
    title: 'FLUSHALL, three times',
    async inject(stage) {
      for (let i = 0; i < 3; i++) {
        await stage.redis.flushall()
        await sleep(1500)
      }
    },
    faultMs: 0,
    expect: { allowed: [...unreachable, 'NoWorkers', 'NoSuchTask', 'WorkerLost'], falseDeaths: 6 },
  },
  {
    id: 'F28',
    title: "something else under the list's name (WRONGTYPE)",
    inject: stage => stage.redis.set('pshub:{q}:calls', 'x'),
    heal: stage => stage.redis.del('pshub:{q}:calls'),
    expect: { allowed: ['NotEnqueued', ...waited] },
  },
  {
    id: 'F29',
    title: 'hostile messages in the list',
    faultMs: 6000,
    inject: stage =>
      stage.repeat(150, async () => {
        const messages = hostile(stage)
        await stage.redis.rpush('pshub:{q}:calls', messages[stage.integer(0, messages.length - 1)])
      }),
    expect: { promised: 'all' },
  },
]
