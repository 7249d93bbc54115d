import { describe, expect, it } from 'vitest'
import { RelayHub } from '../../src/hub/relay.ts'
import { defineTask, type Hub, type Worker } from '../../src/index.ts'
import { findJobRecord, listedStates } from '../../src/jobs/lists/listing.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { run } from '../../src/redis/library.ts'
import { type Role, roles, usesOf } from '../../src/redis/rights.ts'
import { newId } from '../../src/wire/ids.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRights } from '../support/acl-users.ts'
import { askAsAdmin } from '../support/ask-as-admin.ts'
import { claimWhole } from '../support/claim-whole.ts'
import { watchCommands } from '../support/command-watch.ts'
import { commandsOfFunctions, shapeOf } from '../support/function-commands.ts'
import { hearWhatRuns, tells } from '../support/hearing.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { installAs } from '../support/install-as.ts'
import { keepAsRegistry } from '../support/keep-as-registry.ts'
import { enqueueWithKeys } from '../support/keyed-work.ts'
import { cancelInBulk, lookAtJobs } from '../support/looking-at-jobs.ts'
import { enqueueMerged } from '../support/merged-work.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts'

/** Users with the rights that PROTOCOL.md lists, and no others. */
const server = useRedis()
const rights = useRights(server)

const keys = () => queueKeys(server)
const cardsKey = () => `${server.namespace}:tasks`
/** Every grant of a role as watchCommands tells it; what only functions use is not seen there. */
const grantsOf = (role: Role): string[] =>
  usesOf(role, makeKeys('pshub'), '<queue>', '<id>').flatMap(({ key, commands }) =>
    commands.map(command => [role, command, ...(key === undefined ? [] : [key])].join(' ')),
  )
const ofFunctions = () =>
  [...commandsOfFunctions()].flatMap(([role, used]) =>
    used.map(({ command, key }) => [role, command, ...(key === undefined ? [] : [key])].join(' ')),
  )

/** Ends the runs of short:1.0. */
const endings: (() => void)[] = []
const tasks = [
  defineTask('own:1.0', { idempotent: true }, args => args),
  defineTask('long:1.0', {}, length => 'x'.repeat(Number(length))),
  defineTask('fails:1.0', {}, () => {
    throw new Error('no')
  }),
  defineTask('keyed:1.0', { keyed: 'ordered' }, args => args),
  defineTask('short:1.0', {}, () => new Promise<void>(resolve => endings.push(resolve))),
  tells,
  defineTask(
    'stay:1.0',
    { timeoutMs: 60_000 },
    (_, ctx) => new Promise(resolve => ctx.signal.addEventListener('abort', () => resolve('stayed'))),
  ),
]

/** Calls by each kind of name, unknown, many at once, with long arguments, and with replies that fill the list of those that were read. */
const callInEveryWay = async (hub: Hub) => {
  for (const name of ['own:1.0', 'own:1', 'own']) expect(await hub.call(name, name)).toBe(name)
  expect((await failure(hub.call('owm'))).code).toBe('NoSuchTask')
  const page = await hub.gather({ a: ['own:1.0', 1], b: ['own:1', 2], c: ['long:1.0', 600], d: ['long:1.0', 1] })
  expect(Object.values(page).map(({ ok }) => ok)).toEqual([true, true, true, true])
  const long = 'x'.repeat(100_000)
  expect(await hub.call('own:1.0', long)).toBe(long)
  await Promise.all(Array.from({ length: 200 }, (_, n) => hub.call('own:1.0', n)))
  for (let n = 0; n < 8; n++) expect(await hub.call('long:1.0', 4000)).toHaveLength(4000)
}

/** Gives up a request that runs and one that waits; one goes on running. */
const giveUp = async (hub: Hub, worker: Worker) => {
  const [running, waiting] = [new AbortController(), new AbortController()]
  const stays = failure(hub.call('stay:1.0'))
  const given = failure(hub.call('stay:1.0', {}, { signal: running.signal }))
  await eventually(() => worker.busy === 2)
  const waits = failure(hub.call('stay:1.0', {}, { signal: waiting.signal }))
  const backlog = () => server.redis.llen(keys().calls)
  await eventually(async () => (await backlog()) === 1)
  waiting.abort()
  expect((await waits).code).toBe('Aborted')
  await eventually(async () => (await backlog()) === 0)
  running.abort()
  expect((await given).code).toBe('Aborted')
  await eventually(() => worker.busy === 1)
  return { stays }
}

/** Breaks the connection on which a hub waits for replies: it reads both lists again. */
const breakInbox = async () => {
  const waiting = async () => {
    const clients = String(await server.redis.call('CLIENT', 'LIST'))
    return /^id=(\d+) .* name=pshub-hub-blocking .* cmd=blmove/m.exec(clients)?.[1]
  }
  const id = await eventually(waiting)
  await server.redis.call('CLIENT', 'KILL', 'ID', id!)
  await eventually(async () => ((await waiting()) ?? id) !== id)
}

/** Jobs while the worker has room for one alone, and one that nobody can run. */
const runJobs = async (worker: Worker) => {
  const { redis } = server
  const { jobs, retries } = keys()
  const job = (n: number) => JSON.stringify({ id: `job-${n}`, task: 'short:1.0', args: n })
  await redis.rpush(jobs, job(1))
  await eventually(() => worker.busy === 1)
  await redis.rpush(jobs, job(2), '{"task":"never:1.0"}')
  await eventually(async () => {
    for (const end of endings.splice(0)) end()
    return (await redis.zcard(retries)) === 1 && worker.busy === 0
  })
  await redis.del(retries)
}

/** A batch that is never closed: what is noted of it goes by itself, whoever tells of its jobs. */
const leaveBatchOpen = async () => {
  const { redis, namespace } = server
  const caller = redis.duplicate({ username: 'jobs', password: 'secret', disableClientInfo: true })
  server.onEnd(() => caller.disconnect())
  const queue = new JobQueue('q', makeKeys(namespace))
  await queue.openBatch(caller as never, 'open', '', '')
  await queue.tally(caller as never, 'open', 'of-another-queue', 'done')
  const member = { at: 1, ttl: 0, id: 'member', job: { batch: 'q/open' }, task: 'own:1.0', args: 1 }
  await redis.rpush(queue.keys.jobs, JSON.stringify(member))
  const ended = queue.keys.batchEnded('open')
  await eventually(async () => (await redis.scard(ended)) === 2)
  expect(await redis.pttl(ended)).toBeGreaterThan(0)
  await redis.del(ended, queue.keys.batch('open'))
}

/** Jobs of each kind, and each way in which one may end. */
const enqueueInEveryWay = async (hub: Hub, worker: Worker) => {
  const { redis } = server
  const one = await hub.enqueue('own:1.0', 1, { priority: 'high', keepResultMs: 60_000, unique: true, delayMs: 20 })
  expect((await hub.enqueue('own:1.0', 1, { unique: true })).isTwin).toBe(true)
  expect(await (await hub.job(one.id)).result()).toBe(1)
  const low = await hub.enqueue('own:1.0', 2, { priority: 'low', tracked: true, delayMs: 10 })
  await hub.enqueue('own:1.0', 2, { priority: 'low' })
  const unconfirmed = hub.enqueue('own:1.0', 2, { durable: 'replica' })
  expect(await unconfirmed.catch(error => error.code)).toBe('OutcomeUnknown')
  const high = await hub.enqueue('own:1.0', 2, { priority: 'high', tracked: true })
  expect(await Promise.all([low.result(), high.result()])).toEqual([2, 2])
  const failing = await hub.enqueue('fails:1.0', 0, {
    tracked: true,
    unique: { until: 'started' },
    retries: 1,
    backoff: 1,
  })
  expect((await failure(failing.result())).code).toBe('TaskFailed')
  const dead = hub.dead('q')
  expect(await dead.retry({ task: 'fails:1.0' })).toBe(1)
  await eventually(async () => (await dead.count()) === 1)
  expect(await dead.delete({ ids: [failing.id] })).toBe(1)
  const stays = await hub.enqueue('stay:1.0', {}, { tracked: true })
  await eventually(async () => (await stays.status()).state === 'running')
  await stays.cancel()
  expect(await stays.result()).toEqual(expect.anything())
  const gone = await hub.enqueue('own:1.0', 3, { unique: true, delayMs: 100 })
  expect(await gone.cancel()).toBe(true)
  const early = await hub.enqueue('undeclared:1.0', 1, { queue: 'q', tracked: true, delayMs: 50 })
  expect(await early.cancel()).toBe(true)
  const failed = await hub.enqueue('fails:1.0', 1, { tracked: true, retries: 1, backoff: 60_000 })
  await eventually(async () => (await failed.status()).state === 'retrying')
  expect(await failed.cancel()).toBe(true)
  const [first] = await Promise.all(
    // The last ones are cancelled in bulk.
    ['a', 'a', 'b'].map(key => hub.enqueue('keyed:1.0', key, { key, tracked: true, delayMs: 60_000 })),
  )
  expect(await first!.cancel()).toBe(true)
  const twin = await hub.enqueue('own:1.0', 1, { unique: 'twin', delayMs: 60_000 })
  const stuck = await hub.chain([
    ['own:1.0', 1],
    ['own:1.0', 2, { unique: 'twin' }],
  ])
  expect((await failure(stuck.result())).code).toBe('Aborted')
  expect(await twin.cancel()).toBe(true)
  const chain = await hub.chain([
    ['own:1.0', 1],
    ['own:1.0', {}, { pass: 'a', delayMs: 10, unique: true }],
  ])
  expect(await chain.result()).toEqual({ a: 1 })
  const batch = await hub.batch(
    [
      ['own:1.0', 1],
      ['own:1.0', 2],
    ],
    { then: ['own:1.0', 'all', { tracked: true }] },
  )
  expect(await batch.after!.result()).toBe('all')
  expect(await batch.status()).toMatchObject({ total: 2, done: 2 })
  await hub.schedule('each', { cron: '* * * * * *' }, 'own:1.0', 'tick')
  const schedules = hub.schedules('q')
  await new Promise(resolve => worker.events.on('schedule:tick', resolve))
  expect(await schedules.list()).toHaveLength(1)
  await schedules.run('each')
  await redis.zadd(keys().ticks, 1, 'nobody')
  await eventually(async () => (await redis.zscore(keys().ticks, 'nobody')) === null)
  await schedules.remove('each')
  const none = await hub.batch([], { then: ['own:1.0', 'none', { tracked: true }] })
  expect(await none.after!.result()).toBe('none')
  // Who enqueues may not look through all keys.
  await lookAtJobs(
    server,
    hub,
    listedStates.filter(state => state !== 'done'),
  )
  await cancelInBulk(server, hub)
  await hub.close()
  // What a lost worker ran, and had to do in other queues.
  const lost = (id: string, part: string) => ({
    [`job:${id}`]: `{"at":1,"ttl":0,"id":"${id}","job":${part},"task":"own:1.0"}`,
  })
  const all = { ...lost('a', '{}'), ...lost('b', '{"priority":"high"}'), ...lost('c', '{"priority":"low"}') }
  await redis.hset(keys().held('gone'), all)
  const open = newId()
  await redis.hset(keys().batch(open), { opened: 1, then: '', failed: '', total: 1 })
  await redis.hset(keys().held('gone'), {
    'out:q:next': '"ttl":0,"id":"next","job":{"keep":60000},"task":"own:1.0","args":1}',
    'out:q:told': `tally ${open} told done`,
  })
  await redis.zadd(keys().leases, 1, 'gone')
  await eventually(async () => (await redis.exists(keys().held('gone'))) === 0)
  await eventually(async () => (await redis.hget(keys().job('next'), 'state')) === 'done')
  await eventually(async () => (await redis.hget(keys().batch(open), 'done')) === '1')
  expect(worker.busy).toBeLessThan(3)
}

const lookAtRecord = async (username: string) => {
  const client = server.redis.duplicate({ username, password: 'secret', disableClientInfo: true })
  server.onEnd(() => client.disconnect())
  expect((await findJobRecord(client, makeKeys(server.namespace), 'next', ['other', 'q']))?.status.state).toBe('done')
}

/** A worker dies, a claim's answer was lost, and there is work for another worker and for none. */
const loseThings = async (hub: Hub, worker: Worker, other: WorkerProcess) => {
  const lost = failure(hub.call('once:1.0', { n: 1, ms: 60_000 }, { timeoutMs: 60_000 }))
  await eventually(() => other.lines.includes('start 1'))
  const unserved = new Promise(resolve => worker.events.on('request:unserved', resolve))
  await server.redis.rpush(keys().calls, '{"task":"again:1.0","args":{"n":2,"ms":1}}', '{"task":"never:1.0"}')
  await server.redis.hset(keys().held(worker.id), 'x', '{"id":"x","task":"own:1.0","args":1}')
  await unserved
  other.signal('SIGKILL')
  expect((await lost).code).toBe('WorkerLost')
  await server.redis.hset(keys().held('gone'), 'x', '{"at":1,"ttl":0,"id":"x","task":"again:1.0"}')
  await server.redis.zadd(keys().leases, 1, 'gone')
  await eventually(async () => (await server.redis.zscore(keys().leases, 'gone')) === null)
}

describe('users with exactly the listed rights', () => {
  it('do everything that there is to do without one denial, and use every right they have', async () => {
    const urls = await rights.users('q')
    const problems: unknown[] = []
    const commands = await watchCommands(server.redis, key => shapeOf(key, server.namespace))
    // What a worker sweeps when it starts, a task and a worker that nobody renewed for long; and more workers than are looked at.
    await server.redis.hset(cardsKey(), 'old:1.0', JSON.stringify({ task: 'old:1.0', queue: 'q', at: 1 }))
    await server.redis.hset(`${server.namespace}:stats`, 'old', JSON.stringify({ seen: 1 }))
    await server.redis.zadd(`${server.namespace}:queues`, 1, 'q')
    await server.redis.zadd(keys().leases, ...Array.from({ length: 64 }, (_, n) => [1e15, `crowd-${n}`]).flat())
    const other = await startWorkerProcess(urls.worker, server.namespace, { slots: 1 })
    server.onEnd(() => other.signal('SIGKILL'))
    const worker = await server.worker(tasks, { redis: urls.worker, slots: 2, queue: ['q', '*'] })
    worker.events.on('queue:measured', () => undefined)
    const hub = server.hub({ redis: urls.hub })
    for (const { events } of [worker, hub]) events.on('problem', problem => problems.push(problem))

    await callInEveryWay(hub)
    await runJobs(worker)
    await leaveBatchOpen()
    const { stays } = await giveUp(hub, worker)
    await breakInbox()
    await loseThings(hub, worker, other)
    const enqueuer = server.hub({ redis: urls.jobs })
    await enqueueWithKeys(server, enqueuer, urls.worker)
    const looking = [server.hub({ redis: urls.view }), server.hub({ redis: urls.admin })]
    await enqueueMerged(server, enqueuer, urls.worker, looking)
    const relaying = new RelayHub({ redis: urls.jobs, namespace: server.namespace, logLevel: 'silent' })
    await relaying.relay({ id: newId(), task: 'own:1.0', args: 1 }, 'q', 60_000)
    await relaying.close()
    await enqueueInEveryWay(enqueuer, worker)
    const viewer = server.hub({ redis: urls.view })
    expect(await viewer.slowCalls()).toContainEqual(expect.objectContaining({ worker: worker.id }))
    expect(await viewer.failures()).toEqual(expect.any(Array))
    expect((await viewer.overview()).queues).toMatchObject([{ queue: 'q', workers: 1 }])
    const admin = server.hub({ redis: urls.admin })
    await hearWhatRuns(hub, server.hub({ redis: urls.jobs }), [viewer, admin])
    const pausedMs = await admin.pause('q')
    expect(await admin.queues()).toMatchObject([{ queue: 'q', pausedMs }])
    expect(await admin.resume('q')).toBe(true)
    await admin.slowCalls()
    await admin.failures()
    for (const looking of [viewer, admin]) await lookAtJobs(server, looking)
    for (const user of ['view', 'admin']) await lookAtRecord(user)
    await keepAsRegistry(server.hub({ redis: urls.registry }))
    await askAsAdmin(server, worker)
    await worker.stop({ graceMs: 50 })
    await claimWhole(server, urls.worker)
    await installAs(server, urls.install)
    expect((await stays).code).toBe('WorkerLost')
    await hub.close()

    expect(await rights.denied()).toEqual([])
    expect(problems.filter(problem => (problem as { where: string }).where !== 'schedule')).toEqual([])
    const sent = await commands.stop()
    const granted = roles.flatMap(grantsOf)
    expect(
      [...sent].filter(line => /^(hub|jobs|worker|view|admin|registry|install) /.test(line) && !granted.includes(line)),
    ).toEqual([])
    const used = new Set([...sent, ...ofFunctions()])
    // Who enqueues may do all that a caller may, which is seen there.
    for (const line of [...used].filter(each => each.startsWith('hub '))) used.add(line.replace('hub', 'jobs'))
    // MONITOR shows no administrative command.
    const counts = await server.redis.info('commandstats')
    if (/cmdstat_client\|unblock:calls=[1-9]/.test(counts)) used.add('worker CLIENT|UNBLOCK')
    // Whoever connects again fences the connection before.
    if (/cmdstat_client\|kill:calls=[1-9]/.test(counts)) for (const role of roles) used.add(`${role} CLIENT|KILL`)
    // What a Cluster needs is used there.
    const isOwn = (line: string) => !line.endsWith(' CLUSTER|SLOTS') && !line.includes('}:moving')
    expect(granted.filter(line => isOwn(line) && !used.has(line))).toEqual([])
    await server.redis.del(keys().calls, keys().bell, keys().leases)
    server.allowLeftovers()
  }, 180_000)

  it('keep a caller from claiming and a worker from serving another queue', async () => {
    const urls = await rights.users('q')
    const caller = server.redis.duplicate({ username: 'hub', password: 'secret', disableClientInfo: true })
    server.onEnd(() => caller.disconnect())
    const { calls, bell, held, leases, jobs, jobBell } = keys()
    await expect(run(caller, 'claim', [calls, bell, held('w'), leases, jobs, jobBell], ['w', 1, 1])).rejects.toThrow(
      /NOPERM/,
    )
    await expect(caller.hset(cardsKey(), 'a', 'b')).rejects.toThrow(/NOPERM/)
    for (const role of ['hub', 'view'] as const) {
      const error = await failure(server.hub({ redis: urls[role] }).pause('q'))
      expect([error.code, error.message]).toEqual(['NotEnqueued', expect.stringMatching(/^Queue q.*'pshub check'/)])
    }
    const other = server.worker([defineTask('own:1.0', {}, () => 1)], { redis: urls.worker, queue: 'other' })
    await expect(other).rejects.toThrow(/may not serve a queue: it lacks .*:\{other\}:calls/)
    await rights.denied()
  })
})
