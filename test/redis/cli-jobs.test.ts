import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'
import { keysOf, someOfEach } from '../support/cli-jobs.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run } = cli
const keys = (queue?: string) => keysOf(cli, queue)

/** A user of a role; gone when the returned function is called. */
const userOf = async (role: 'view' | 'jobs') => {
  await cli.redis.call(
    'ACL',
    'SETUSER',
    role,
    'reset',
    'on',
    '>secret',
    ...rulesOf(role, makeKeys(cli.namespace)).split(' '),
  )
  const remove = () => cli.redis.call('ACL', 'DELUSER', role)
  return { env: { PSHUB_REDIS: cli.url.replace('//', `//${role}:secret@`) }, remove }
}

describe('pshub jobs', () => {
  it('counts jobs by where they lie, and lists them', async () => {
    expect(await run(['jobs'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('No queue is known') })
    await someOfEach(cli)
    expect(await run(['jobs'])).toEqual({
      code: 0,
      out: 'QUEUE    WAITING  SCHEDULED  RETRYING  DEAD\ndefault        1          1         1     2\n',
      err: '',
    })
    expect(JSON.parse((await run(['jobs', '--json'])).out)).toEqual([
      { queue: 'default', waiting: 1, scheduled: 1, retrying: 1, dead: 2 },
    ])
    const waiting = await run(['jobs', '--state', 'waiting'])
    expect(waiting.out).toMatch(
      /^ *ENQUEUED {2}QUEUE +TASK +PRIORITY {2}TRIES {2}FROM +ID\n.* ago {2}default {2}add:1\.0 {2}high +0 /,
    )
    expect(await run(['jobs', '--state', 'dead', '--task', 'add:1.0'])).toEqual({
      code: 0,
      out: '',
      err: 'No job of add:1.0 is dead. To count the jobs in each state: pshub jobs\n',
    })
    const [job] = JSON.parse((await run(['jobs', '--state', 'retrying', '--json'])).out)
    expect(job).toMatchObject({ state: 'retrying', tries: 1, error: { code: 'TaskFailed' }, deadMs: null })
  }, 60_000)

  it.each([
    [['mail'], "pshub jobs takes no arguments; 'mail' is one too many. Pass a queue with --queue."],
    [['--state', 'running'], "--state must be waiting, scheduled, retrying, dead; it is 'running'."],
  ])('%j is refused', async (args, message) => {
    expect(await run(['jobs', ...args])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  it('and the other looks need no more than the rights to look', async () => {
    const worker = await cli.worker()
    const id = (await run(['enqueue', 'add', '{"a":1}', '--tracked'])).out.trim()
    await eventually(async () => (await cli.redis.hget(keys().job(id), 'state')) === 'done')
    await run(['enqueue', 'fail', '--retries', '0', '--wait'])
    await worker.stop()
    const { env, remove } = await userOf('view')
    for (const args of [['jobs'], ['jobs', '--state', 'waiting'], ['job', id], ['dead']])
      expect(await run(args, { env }), args.join(' ')).toMatchObject({ code: 0 })
    for (const args of [
      ['dead', 'retry'],
      ['dead', 'delete'],
      ['job', id, '--wait'],
    ])
      expect(await run(args, { env }), args.join(' ')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^Redis rejected: the Redis user lacks a right; 'pshub check' names it/),
      })
    await cli.redis.call('ACL', 'SETUSER', 'view', '-zcard')
    const old = await run(['jobs'], { env })
    expect(old.out).toMatch(/\ndefault +0 +\? +\? +\?\n$/)
    expect(old.err).toContain('pshub check --for view')
    await remove()
    const jobs = await userOf('jobs')
    expect(await run(['dead', 'retry'], jobs)).toMatchObject({ code: 0, out: '1 dead job is retried.\n' })
    expect(await run(['jobs'], jobs)).toMatchObject({ code: 0 })
    await jobs.remove()
  }, 60_000)
})

describe('pshub job', () => {
  it('shows a record, its result and its chain, and waits', async () => {
    await cli.worker()
    const later = (await run(['enqueue', 'add', '{"a":1,"b":2}', '--tracked', '--delay', '1h'])).out.trim()
    expect((await run(['job', later])).out).toMatch(
      new RegExp(
        `^${later}\\n {2}task +add:1\\.0\\n {2}queue +default\\n {2}state +scheduled\\n {2}enqueued .* ago\\)\\n {2}due .*\\(in `,
      ),
    )
    const id = (await run(['enqueue', 'add', '{"a":1,"b":2}', '--tracked'])).out.trim()
    expect(await run(['job', id, '--wait'])).toEqual({ code: 0, out: '3\n', err: '' })
    expect((await run(['job', id, '--queue', 'default'])).out).toMatch(
      /state +done\n[\s\S]*worker .*\n\nresult:\n {2}3\n$/,
    )
    expect(JSON.parse((await run(['job', id, '--json'])).out)).toMatchObject({
      id,
      state: 'done',
      tries: 0,
      error: null,
      result: 3,
      chain: null,
    })
    const failing = (await run(['enqueue', 'fail', '--retries', '0', '--tracked'])).out.trim()
    expect(await run(['job', failing, '--wait'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^TaskFailed: /),
    })
    expect((await run(['job', failing])).out).toMatch(
      /failed +1 time\n {2}last error +TaskFailed: no\\u001b\[31mluck\n/,
    )
    const chained = { chain: 'c', steps: '[["default","add:1.0"],["other","b:1.0"]]' }
    await cli.redis.hset(keys().job('c'), { state: 'done', task: 'add:1.0', result: 'no JSON', ...chained })
    const chain = (await run(['job', 'c'])).out
    expect(chain).toMatch(/\nresult:\n {2}null\n\nchain c:\n/)
    expect(chain).toMatch(/\n {2}done +add:1\.0 {2}default {2}c\n {2}pending {2}b:1\.0 +other +c-2\n$/)
  }, 60_000)

  it('cancels', async () => {
    await cli.worker()
    const enqueue = async (...args: string[]) => (await run(['enqueue', ...args, '--tracked'])).out.trim()
    const later = await enqueue('add', '{"a":1}', '--delay', '1h')
    expect(await run(['job', later, '--cancel'])).toEqual({
      code: 0,
      out: `${later} is cancelled; it will not run.\n`,
      err: '',
    })
    expect(await run(['job', later, '--wait'])).toMatchObject({ code: 4, err: expect.stringMatching(/^Aborted: /) })
    const running = await enqueue('slow', '{"ms":20000}')
    await eventually(async () => (await cli.redis.hget(keys().job(running), 'state')) === 'running')
    expect((await run(['job', running, '--cancel'])).out).toContain('its abort signal fires')
    const done = await enqueue('add', '{"a":1}')
    await run(['job', done, '--wait'])
    expect(await run(['job', done, '--cancel'])).toEqual({
      code: 1,
      out: '',
      err: `${done} has already ended: it is done.\n`,
    })
  }, 60_000)

  it('runs at once what waits for its time', async () => {
    const enqueue = async (...more: string[]) =>
      (await run(['enqueue', 'add:1.0', '{"a":1}', '--queue', 'q', '--delay', '1h', ...more])).out.trim()
    const later = await enqueue('--tracked')
    expect(await run(['job', later, '--run'])).toEqual({
      code: 0,
      out: `${later} is due now: the next idle slot runs it.\n`,
      err: '',
    })
    expect(await run(['job', later, '--run'])).toEqual({
      code: 1,
      out: '',
      err: `${later} is not scheduled or retrying: it is waiting.\n`,
    })
    expect(JSON.parse((await run(['job', later, '--run', '--json'])).out)).toEqual({ id: later, run: false })
    const plain = await enqueue()
    expect((await run(['job', plain, '--run', '--queue', 'q'])).code).toBe(0)
    expect(await cli.redis.llen(keys('q').jobs)).toBe(2)
  }, 60_000)

  it.each([
    [[], 'pshub job needs the id of a job'],
    [['no id!'], "'no id!' is not the id of a job."],
    [['x', '--wait', '--cancel'], 'Give --cancel or --wait, not both.'],
  ])('%j is refused', async (args, message) => {
    expect(await run(['job', ...args])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  it('knows nothing of a job that is not tracked', async () => {
    for (const args of [[], ['--wait'], ['--cancel'], ['--run'], ['--queue', 'q']]) {
      const { code, out, err } = await run(['job', 'nobody', ...args])
      expect([code, out]).toEqual([4, ''])
      expect(err).toMatch(/^NoSuchJob: There is no record of job nobody( in queue q)?: it was not tracked/)
    }
    const json = await run(['job', 'nobody', '--json'])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'NoSuchJob', id: 'nobody' })
  })
})
