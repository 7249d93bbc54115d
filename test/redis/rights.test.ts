import { describe, expect, it } from 'vitest'
import { defineTask, type Hub, type Worker } from '../../src/index.ts'
import { install, run } from '../../src/redis/library.ts'
import { type Role, roles, usesOf } from '../../src/redis/rights.ts'
import { sleep } from '../../src/wire/clock.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRights } from '../support/acl-users.ts'
import { watchCommands } from '../support/command-watch.ts'
import { commandsOfFunctions, shapeOf } from '../support/function-commands.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
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

const tasks = [
  defineTask('own:1.0', { idempotent: true }, args => args),
  defineTask('long:1.0', {}, length => 'x'.repeat(Number(length))),
  defineTask('short:1.0', {}, () => sleep(100)),
  defineTask(
    'stay:1.0',
    { timeoutMs: 20_000 },
    (_, ctx) => new Promise(resolve => ctx.signal.addEventListener('abort', resolve)),
  ),
]

/** Calls by each kind of name, unknown, many at once, and with replies that fill the list of those that were read. */
const callInEveryWay = async (hub: Hub) => {
  for (const name of ['own:1.0', 'own:1', 'own']) expect(await hub.call(name, name)).toBe(name)
  expect((await failure(hub.call('owm'))).code).toBe('NoSuchTask')
  const page = await hub.gather({ a: ['own:1.0', 1], b: ['own:1', 2], c: ['long:1.0', 600], d: ['long:1.0', 1] })
  expect(Object.values(page).map(({ ok }) => ok)).toEqual([true, true, true, true])
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
  const { jobs, dead } = keys()
  const job = (n: number) => JSON.stringify({ id: `job-${n}`, task: 'short:1.0', args: n })
  await redis.rpush(jobs, job(1))
  await eventually(() => worker.busy === 1)
  await redis.rpush(jobs, job(2), '{"task":"never:1.0"}')
  await eventually(async () => (await redis.zcard(dead)) === 1)
  await redis.del(dead)
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

/** Loads the library into an empty server, which a revision of it in Redis makes unnecessary. */
const installAs = async (url: string) => {
  await server.redis.function('FLUSH')
  const { username, password } = new URL(url)
  const client = server.redis.duplicate({ username, password, connectionName: 'install', disableClientInfo: true })
  expect(await install(client)).toMatchObject({ isFit: true, isNew: true })
  client.disconnect()
}

describe('users with exactly the listed rights', () => {
  it('do everything that there is to do without one denial, and use every right they have', async () => {
    const urls = await rights.users('q')
    const problems: unknown[] = []
    const commands = await watchCommands(server.redis, key => shapeOf(key, server.namespace))
    // What a worker sweeps when it starts: a task and a worker that nobody renewed for long.
    await server.redis.hset(cardsKey(), 'old:1.0', JSON.stringify({ task: 'old:1.0', queue: 'q', at: 1 }))
    await server.redis.hset(`${server.namespace}:stats`, 'old', JSON.stringify({ seen: 1 }))
    const other = await startWorkerProcess(urls.worker, server.namespace, { slots: 1 })
    server.onEnd(() => other.signal('SIGKILL'))
    const worker = await server.worker(tasks, { redis: urls.worker, slots: 2 })
    const hub = server.hub({ redis: urls.hub })
    for (const { events } of [worker, hub]) events.on('problem', problem => problems.push(problem))

    await callInEveryWay(hub)
    await runJobs(worker)
    const { stays } = await giveUp(hub, worker)
    await breakInbox()
    await loseThings(hub, worker, other)
    const viewer = server.hub({ redis: urls.view })
    expect(await viewer.slowCalls()).toContainEqual(expect.objectContaining({ worker: worker.id }))
    expect(await viewer.failures()).toEqual(expect.any(Array))
    const { queues } = await viewer.overview()
    expect(queues).toMatchObject([{ queue: 'q', workers: 1 }])
    const admin = server.hub({ redis: urls.admin })
    const pausedMs = await admin.pause('q')
    expect(await admin.queues()).toMatchObject([{ queue: 'q', pausedMs }])
    expect(await admin.resume('q')).toBe(true)
    await admin.slowCalls()
    await admin.failures()
    await installAs(urls.install)
    await worker.stop({ graceMs: 50 })
    expect((await stays).code).toBe('WorkerLost')
    await hub.close()

    expect(await rights.denied()).toEqual([])
    expect(problems).toEqual([])
    const sent = await commands.stop()
    const granted = roles.flatMap(grantsOf)
    expect([...sent].filter(line => /^(hub|worker|view|admin|install) /.test(line) && !granted.includes(line))).toEqual(
      [],
    )
    const used = new Set([...sent, ...ofFunctions()])
    // MONITOR shows no administrative command.
    const counts = await server.redis.info('commandstats')
    if (/cmdstat_client\|unblock:calls=[1-9]/.test(counts)) used.add('worker CLIENT|UNBLOCK')
    expect(granted.filter(line => !used.has(line))).toEqual([])
    await server.redis.del(keys().calls, keys().bell, keys().leases)
  }, 40_000)

  it('keep a caller from claiming and a worker from serving another queue', async () => {
    const urls = await rights.users('q')
    const caller = server.redis.duplicate({ username: 'hub', password: 'secret' })
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
