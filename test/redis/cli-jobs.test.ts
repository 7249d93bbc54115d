import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()
const { run, start, startWorker } = cli
const keys = (queue = 'default') => makeKeys(cli.namespace).queue(queue)
const idLine = /^[\w-]{22}\n$/

const stop = async (worker: Awaited<ReturnType<typeof startWorker>>) => {
  worker.signal('SIGTERM')
  await worker.ended
}

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

describe('pshub enqueue', () => {
  it('prints the id, and runs the job in the way that its flags say', async () => {
    const first = await run(['enqueue', 'report:1.0', '{"month":11}', '--queue', 'later', '--name', 'shop'])
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(idLine), err: '' })
    const [plain] = (await cli.redis.lrange(keys('later').jobs, 0, -1)).map(text => JSON.parse(text))
    expect(plain).toMatchObject({ id: first.out.trim(), task: 'report:1.0', args: { month: 11 }, from: 'shop' })
    const flags = ['--delay', '5m', '--retries', '3', '--backoff', '1s,10s', '--expires', '1h', '--keep', '10m']
    await run(['enqueue', 'report:1.0', '--queue', 'later', '--priority', 'low', ...flags])
    const [delayed, due] = await cli.redis.zrange(keys('later').scheduled, '0', '-1', 'WITHSCORES')
    expect(JSON.parse(delayed!)).toMatchObject({
      ttl: 3_600_000,
      job: { retries: 3, backoff: [1000, 10_000], priority: 'low', keep: 600_000 },
    })
    expect(Number(due) - Date.now()).toBeGreaterThan(280_000)
    const tomorrow = new Date(Date.now() + 86_400_000)
    await run(['enqueue', 'report:1.0', '--queue', 'far', '--at', tomorrow.toISOString()])
    expect((await cli.redis.zrange(keys('far').scheduled, '0', '-1', 'WITHSCORES'))[1]).toBe(String(tomorrow.getTime()))
    const json = await run(['enqueue', 'report:1.0', '-', '--queue', 'later', '--json'], { input: '7' })
    expect(JSON.parse(json.out)).toEqual({
      id: expect.any(String),
      queue: 'later',
      task: 'report:1.0',
      isTwin: false,
    })
  })

  it('says where one like it is there', async () => {
    const unique = ['enqueue', 'report:1.0', '{"a":1}', '--queue', 'later', '--unique']
    const first = await run(unique)
    const twin = await run(unique)
    expect(twin).toEqual({
      code: 0,
      out: first.out,
      err: `Nothing was enqueued: this is the twin of ${first.out.trim()}, which was there already.\n`,
    })
    expect((await run(['enqueue', 'report:1.0', '--queue', 'later', '--unique=x'])).out).not.toBe(first.out)
    const json = await run([...unique, '--json'])
    expect(JSON.parse(json.out)).toMatchObject({ id: first.out.trim(), isTwin: true })
    expect(json.err).toBe('')
  })

  it('waits for the result, and tells how a job failed', async () => {
    const worker = await startWorker()
    const added = await run(['enqueue', 'add', '{"a":1,"b":2}', '--wait'])
    expect(added).toEqual({ code: 0, out: '3\n', err: expect.stringMatching(idLine) })
    expect(await run(['enqueue', 'add', '{"a":1}', '--wait', '--json'])).toEqual({ code: 0, out: '1\n', err: '' })
    const failed = await run(['enqueue', 'fail', '--retries', '0', '--wait'])
    expect([failed.code, failed.out]).toEqual([1, ''])
    expect(failed.err).toMatch(/^[\w-]{22}\nTaskFailed: no\\u001b\[31mluck\n/)
    const late = await run(['enqueue', 'slow', '{"ms":30000}', '--wait', '--timeout', '200ms'])
    expect([late.code, late.err]).toEqual([4, expect.stringContaining('Timeout: Job ')])
    const given = start(['enqueue', 'slow', '{"ms":30000}', '--wait'])
    await eventually(async () => (await cli.redis.hlen(keys().held(await workerId()))) === 2)
    given.signal('SIGINT')
    expect(await given.ended).toMatchObject({ code: 130, err: expect.stringContaining('Aborted: ') })
    worker.signal('SIGKILL')
    await worker.ended
  }, 30_000)

  it('enqueues what a file says, all or nothing of what is wrong, and only looks with --dry-run', async () => {
    const worker = await startWorker()
    await stop(worker)
    const file = (lines: string[], name = 'entries.jsonl') => {
      writeFileSync(join(cli.folder, name), `\ufeff${lines.join('\n')}\n`)
      return ['--file', name]
    }
    const good = ['["add:1.0",{"a":1}]', '', '["echo:1.2",[2],{"delayMs":60000}]', '["echo",3,{"unique":"x"}]']
    expect(await run(['enqueue', ...file(good), '--dry-run'])).toEqual({
      code: 0,
      out: '3 jobs can be enqueued; nothing was.\n',
      err: '',
    })
    expect(await cli.redis.exists(keys().jobs)).toBe(0)
    expect(await run(['enqueue', ...file(good)])).toEqual({ code: 0, out: '3 jobs are enqueued.\n', err: '' })
    expect([await cli.redis.llen(keys().jobs), await cli.redis.zcard(keys().scheduled)]).toEqual([2, 1])
    const again = JSON.parse((await run(['enqueue', ...file(good), '--json'])).out)
    expect(again).toEqual({ enqueued: 2, twins: 1, ids: Array(3).fill(expect.any(String)) })
    expect((await run(['enqueue', ...file(good.slice(3))])).out).toBe(
      '1 job is enqueued; 1 of them were there already.\n',
    )
    const before = await cli.redis.llen(keys().jobs)
    const many = Array.from({ length: 25_000 }, (_, n) => `{"a":${n}}`)
    expect(await run(['enqueue', 'add', '--file', '-', '--priority', 'low'], { input: many.join('\n') })).toEqual({
      code: 0,
      out: '25000 jobs are enqueued.\n',
      err: '',
    })
    expect(await cli.redis.llen(keys().jobsLow)).toBe(25_000)
    many[20_000] = '{"a":"x"}'
    const wrong = await run(['enqueue', 'add', '--file', '-'], { input: many.join('\n') })
    expect(wrong).toMatchObject({ code: 3, out: '' })
    expect(wrong.err).toMatch(
      /^Line 20001 is wrong, so nothing is enqueued\.\nInvalidArgs: The arguments of add:1\.0 do not fit:\n +\/a +must be number\n/,
    )
    const json = await run(['enqueue', ...file([good[0]!, '["add:1.0",{"c":1}]']), '--json'])
    expect([json.code, json.out]).toEqual([3, ''])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'InvalidArgs', data: { line: 2, problems: expect.any(Array) } })
    expect(await cli.redis.llen(keys().jobs)).toBe(before)
    for (const [lines, code, message] of [
      [['["add:1.0"'], 2, 'entries.jsonl, line 1, is not JSON: '],
      [['{"a":1}'], 3, 'it must be [task, args, options].'],
      [['["nobody:1.0"]'], 3, 'NoSuchTask'],
      [['["add:1.0",{"a":1},{"dealy":1}]'], 3, "there is no option 'dealy'"],
      [[''], 2, 'entries.jsonl has no lines.'],
    ] as const)
      expect(await run(['enqueue', ...file([...lines])])).toMatchObject({
        code,
        out: '',
        err: expect.stringContaining(message),
      })
  }, 60_000)

  it('shows a person how far it is, and stops at Ctrl-C between two portions', async () => {
    await stop(await startWorker())
    const write = (name: string, count: number) => {
      const path = join(cli.folder, name)
      writeFileSync(path, Array.from({ length: count }, (_, n) => `{"a":${n}}`).join('\n'))
      return path
    }
    const env = { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace, NO_COLOR: '1' }
    const taken = '\r\u001b[K'
    const enqueue = (path: string) => {
      const main = join(root, 'dist/cli/main.js')
      return openTerminal(100, 24, [process.execPath, main, 'enqueue', 'add', '--file', path], env)
    }
    const whole = enqueue(write('few.jsonl', 20_000))
    expect(await whole.ended).toBe(0)
    const [bars, told] = whole.output.split(taken)
    expect(bars).toMatch(/^\r\[#*\.+\] +\d+% +\d+ of 20000/)
    expect(told).toMatch(/^20000 jobs are enqueued\.\r/)
    const broken = enqueue(write('many.jsonl', 200_000))
    await eventually(() => / of 200000/.test(broken.output), 20_000)
    broken.type('\u0003')
    expect(await broken.ended).toBe(130)
    const [, sent] = /^Aborted: (\d+) of 200000 jobs are enqueued, those of the first lines\./.exec(
      broken.output.split(taken)[1]!,
    )!
    expect(Number(sent) % 10_000).toBe(0)
    expect(await cli.redis.llen(keys().jobs)).toBe(20_000 + Number(sent))
  }, 60_000)

  it('only looks at one job with --dry-run', async () => {
    await stop(await startWorker())
    expect(await run(['enqueue', 'add', '{"a":1}', '--dry-run'])).toEqual({
      code: 0,
      out: '1 job can be enqueued; nothing was.\n',
      err: '',
    })
    expect(await run(['enqueue', 'add', '{"a":1}', '--dry-run', '--json'])).toMatchObject({ out: '{"checked":1}\n' })
    expect(await run(['enqueue', 'add', '{"b":1}', '--dry-run'])).toMatchObject({ code: 3 })
    expect(await cli.redis.exists(keys().jobs)).toBe(0)
  })

  it.each([
    [[], 'pshub enqueue needs the name of a task'],
    [['t', '{'], 'The second argument is not JSON'],
    [['t', '--queue', 'no queue'], "--queue must be the name of a queue; it is 'no queue'."],
    [['t', '--delay', 'soon'], '--delay must be a duration like'],
    [['t', '--expires', '-1s'], '--expires needs a value'],
    [['t', '--keep', '1w'], '--keep must be a duration like'],
    [['t', '--delay', '1s', '--at', '2037-01-01T00:00Z'], 'Give --delay or --at, not both.'],
    [['t', '--wait', '--dry-run'], 'nothing to --wait for'],
    [['t', '--timeout', '1s'], '--timeout needs --wait.'],
    [['t', '--timeout', '0', '--wait'], '--timeout must be longer than 0.'],
    [['t', '{}', '--file', 'x'], 'arguments come from the file'],
    [['t', '--file', 'x', '--wait'], '--wait waits for one job'],
    [['t', '--file', 'missing.jsonl'], '--file missing.jsonl cannot be read: ENOENT'],
  ])('%j is refused', async (args, message) => {
    const { code, out, err } = await run(['enqueue', ...args])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
    expect(err).toMatch(/See: pshub help enqueue\n$|^--(delay|keep) must/)
  })

  it('says what Redis or the registry lack', async () => {
    expect(await run(['enqueue', 'nobody:1.0'])).toMatchObject({ code: 3, err: expect.stringMatching(/^NoSuchTask: /) })
    const away = ['--redis', 'redis://127.0.0.1:1']
    for (const args of [['enqueue', 't', '--queue', 'q'], ['jobs'], ['job', 'x'], ['job', 'x', '--wait'], ['dead']])
      expect(await run([...args, ...away]), args.join(' ')).toMatchObject({
        code: 3,
        err: expect.stringMatching(/^Redis at .* could not be reached/),
      })
  }, 30_000)
})

/** Of the one worker that there is. */
const workerId = async () => (await cli.redis.hkeys(makeKeys(cli.namespace).workers))[0]!

/** Dead, scheduled, retrying and waiting jobs of a queue that no worker serves any more. */
const someOfEach = async () => {
  const worker = await startWorker()
  for (const retries of ['0', '0', '5']) await run(['enqueue', 'fail', '--retries', retries, '--backoff', '1h'])
  await eventually(async () => (await cli.redis.zcard(keys().dead)) === 2)
  await eventually(async () => (await cli.redis.zcard(keys().retries)) === 1)
  await stop(worker)
  await run(['enqueue', 'add', '{"a":1}', '--delay', '2h'])
  await run(['enqueue', 'add', '{"a":2}', '--priority', 'high'])
}

describe('pshub jobs', () => {
  it('counts jobs by where they lie, and lists them', async () => {
    expect(await run(['jobs'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('No queue is known') })
    await someOfEach()
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
    expect((await run(['jobs', '--state', 'scheduled'])).out).toMatch(/\nin (1h 59m|2h) {2}default {2}add:1\.0 /)
    expect((await run(['jobs', '--state', 'retrying'])).out).toMatch(/TaskFailed .* no\\u001b\[31mluck\n$/)
    const dead = await run(['jobs', '--state', 'dead', '--limit', '1'])
    expect(dead.out.split('\n')).toHaveLength(3)
    expect(dead.err).toContain('There are more')
    expect(await run(['jobs', '--state', 'dead', '--task', 'add:1.0'])).toEqual({
      code: 0,
      out: '',
      err: 'No job of add:1.0 is dead. How many are in each state: pshub jobs\n',
    })
    const [job] = JSON.parse((await run(['jobs', '--state', 'retrying', '--json'])).out)
    expect(job).toMatchObject({ state: 'retrying', tries: 1, error: { code: 'TaskFailed' }, deadMs: null })
    expect(JSON.parse((await run(['jobs', '--queue', 'other', '--json'])).out)).toMatchObject([
      { queue: 'other', dead: 0 },
    ])
    expect((await run(['queues'])).out).toMatch(/ JOBS {2}SCHEDULED {2}RETRYING {2}DEAD /)
    expect((await run(['top', '--once'])).out).toMatch(/ JOBS {2}SCHEDULED {2}RETRYING {2}DEAD /)
  }, 60_000)

  it.each([
    [['--state', 'running'], "--state must be waiting, scheduled, retrying, dead; it is 'running'."],
    [['--task', 't:1.0'], '--task needs --state'],
    [['--queue', 'a b'], '--queue must be the name of a queue'],
    [['--limit', '0', '--state', 'dead'], '--limit must be a whole number above 0'],
    [['--limit', '10001'], '--limit must be at most 10000'],
    [['more'], "'more' is one too many"],
  ])('%j is refused', async (args, message) => {
    expect(await run(['jobs', ...args])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  it('and the other looks need no more than the rights to look', async () => {
    const worker = await startWorker()
    const id = (await run(['enqueue', 'add', '{"a":1}', '--tracked'])).out.trim()
    await eventually(async () => (await cli.redis.hget(keys().job(id), 'state')) === 'done')
    await run(['enqueue', 'fail', '--retries', '0', '--wait'])
    await stop(worker)
    const { env, remove } = await userOf('view')
    for (const args of [['jobs'], ['jobs', '--state', 'waiting'], ['job', id], ['dead']])
      expect(await run(args, { env }), args.join(' ')).toMatchObject({ code: 0 })
    expect(await cli.redis.call('ACL', 'LOG')).toEqual([])
    for (const args of [
      ['dead', 'retry'],
      ['dead', 'delete'],
      ['job', id, '--wait'],
    ])
      expect(await run(args, { env }), args.join(' ')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^Redis refused: the Redis user lacks a right; 'pshub check' names it/),
      })
    await cli.redis.call('ACL', 'SETUSER', 'view', '-zcard')
    const old = await run(['jobs'], { env })
    expect(old.out).toMatch(/\ndefault +0 +\? +\? +\?\n$/)
    expect(old.err).toContain('pshub check --for view')
    await remove()
    await cli.redis.call('ACL', 'LOG', 'RESET')
    const jobs = await userOf('jobs')
    expect(await run(['dead', 'retry'], jobs)).toMatchObject({ code: 0, out: '1 dead job is tried again.\n' })
    expect(await run(['jobs'], jobs)).toMatchObject({ code: 0 })
    expect(await cli.redis.call('ACL', 'LOG')).toEqual([])
    await jobs.remove()
  }, 60_000)
})

describe('pshub job', () => {
  it('shows a record, its result and its chain, and waits', async () => {
    const worker = await startWorker()
    const id = (await run(['enqueue', 'add', '{"a":1,"b":2}', '--tracked', '--delay', '500ms'])).out.trim()
    expect((await run(['job', id])).out).toMatch(
      new RegExp(
        `^${id}\\n {2}task +add:1\\.0\\n {2}queue +default\\n {2}state +scheduled\\n {2}enqueued .* ago\\)\\n {2}due .*\\(in `,
      ),
    )
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
    expect(JSON.parse((await run(['job', 'c', '--json'])).out).chain).toMatchObject({
      id: 'c',
      steps: [{ state: 'done' }, { id: 'c-2', state: 'pending' }],
    })
    await stop(worker)
  }, 60_000)

  it('cancels', async () => {
    const worker = await startWorker()
    const enqueue = async (...args: string[]) => (await run(['enqueue', ...args, '--tracked'])).out.trim()
    const later = await enqueue('add', '{"a":1}', '--delay', '1h')
    expect(await run(['job', later, '--cancel'])).toEqual({
      code: 0,
      out: `${later} is cancelled; it is not run.\n`,
      err: '',
    })
    expect(JSON.parse((await run(['job', later, '--cancel', '--json'])).out)).toEqual({
      id: later,
      queue: 'default',
      cancelled: true,
      state: 'cancelled',
    })
    expect(await run(['job', later, '--wait'])).toMatchObject({ code: 4, err: expect.stringMatching(/^Aborted: /) })
    const running = await enqueue('slow', '{"ms":20000}')
    await eventually(async () => (await cli.redis.hget(keys().job(running), 'state')) === 'running')
    expect((await run(['job', running, '--cancel'])).out).toContain('its worker was told to end it')
    const done = await enqueue('add', '{"a":1}')
    await run(['job', done, '--wait'])
    expect(await run(['job', done, '--cancel'])).toEqual({
      code: 1,
      out: '',
      err: `${done} had ended before: it is done.\n`,
    })
    worker.signal('SIGKILL')
    await worker.ended
  }, 60_000)

  it.each([
    [[], 'pshub job needs the id of a job'],
    [['no id!'], "'no id!' is not the id of a job."],
    [['x', '--queue', 'a b'], '--queue must be the name of a queue'],
    [['x', '--wait', '--cancel'], 'Give --cancel or --wait, not both.'],
    [['x', '--timeout', '1s'], '--timeout needs --wait.'],
  ])('%j is refused', async (args, message) => {
    expect(await run(['job', ...args])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  it('knows nothing of a job that is not tracked', async () => {
    for (const args of [[], ['--wait'], ['--cancel'], ['--queue', 'q']]) {
      const { code, out, err } = await run(['job', 'nobody', ...args])
      expect([code, out]).toEqual([4, ''])
      expect(err).toMatch(/^NoSuchJob: Nothing is known of job nobody( in queue q)?: it was not tracked/)
    }
    const json = await run(['job', 'nobody', '--json'])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'NoSuchJob', id: 'nobody' })
  })
})

describe('pshub dead', () => {
  it('lists, tries again and deletes', async () => {
    expect(await run(['dead'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('No dead job') })
    await someOfEach()
    const listed = await run(['dead', 'list'])
    expect(listed.out).toMatch(/^ *GIVEN UP {2}QUEUE +TASK +TRIES {2}CODE +FROM +ID +MESSAGE\n/)
    expect(listed.out).toMatch(/ ago {2}default {2}fail:1\.0 +1 {2}TaskFailed .*no\\u001b\[31mluck\n/)
    expect((await run(['dead', '--limit', '1'])).err).toContain('There are more')
    const all = JSON.parse((await run(['dead', '--json'])).out)
    expect(all).toMatchObject([{ task: 'fail:1.0', args: {}, errors: [{ code: 'TaskFailed' }] }, {}])
    for (const filter of [
      ['--task', 'x:1.0'],
      ['--code', 'Expired'],
      ['--older', '1d'],
      ['--queue', 'q'],
      ['--id', 'x'],
    ])
      expect((await run(['dead', ...filter, '--json'])).out, filter.join(' ')).toBe('[]\n')
    expect(await run(['dead', 'delete'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('2 dead jobs match. Look with: pshub dead list. Then delete them all with --yes.'),
    })
    expect(await run(['dead', 'retry', '--args', '{}'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--args are those of one job, and 2 match'),
    })
    expect((await run(['dead', 'retry', '--dry-run'])).out).toBe(
      '2 dead jobs would be tried again; nothing was changed.\n',
    )
    expect((await run(['dead', 'delete', '--dry-run', '--json'])).out).toBe('{"matching":2}\n')
    expect(await cli.redis.zcard(keys().dead)).toBe(2)
    const [first, second] = all.map(({ id }: { id: string }) => id)
    expect(await run(['dead', 'retry', '--id', first, '--args', '{"other":1}'])).toEqual({
      code: 0,
      out: '1 dead job is tried again.\n',
      err: '',
    })
    const [again] = (await cli.redis.lrange(keys().jobs, 0, -1)).map(text => JSON.parse(text))
    expect(again).toMatchObject({ id: first, args: { other: 1 } })
    expect(await run(['dead', 'delete', '--id', `${first},`, '--id', second])).toMatchObject({
      code: 1,
      out: '1 dead job is deleted.\n',
    })
    expect((await run(['dead', 'delete', '--json'])).out).toBe('{"deleted":0}\n')
    for (const n of [1, 2, 3]) await cli.redis.zadd(keys().dead, n, `{"id":"${n}","task":"fail:1.0"}`)
    expect((await run(['dead', 'retry', '--older', '1d', '--yes', '--json'])).out).toBe('{"retried":3}\n')
    await cli.redis.zadd(keys().dead, 1, '{"id":"1","task":"fail:1.0"}', 2, '{"id":"2","task":"fail:1.0"}')
    expect((await run(['dead', 'delete', '--yes'])).out).toBe('2 dead jobs are deleted.\n')
  }, 90_000)

  it.each([
    [['lsit'], "pshub dead does list, retry, delete; it is 'lsit'. Did you mean list?"],
    [['retry', '--id', 'a b'], "'a b' is not the id of a job."],
    [['retry', '--args', '{'], '--args is not JSON'],
    [['delete', '--args', '{}'], '--args belongs to: pshub dead retry'],
    [['--older', 'long'], '--older must be a duration'],
    [['--queue', 'a b'], '--queue must be the name of a queue'],
    [['--limit', '0'], '--limit must be a whole number above 0'],
  ])('%j is refused', async (args, message) => {
    expect(await run(['dead', ...args])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  it('shows nothing that a terminal would obey', async () => {
    const evil = '\u001b]0;owned\u0007\u202e'
    await cli.redis.hset(`${cli.namespace}:tasks`, 'x:1.0', JSON.stringify({ task: 'x:1.0', queue: 'q' }))
    const error = { at: 1, code: evil, message: evil }
    const job = { at: 1, ttl: 0, id: 'x', job: { tries: 1, errors: [error] }, task: evil, from: evil }
    await cli.redis.zadd(keys('q').dead, 1, JSON.stringify(job))
    await cli.redis.zadd(keys('q').retries, 1, JSON.stringify(job))
    const steps = JSON.stringify([[evil, evil]])
    const record = { state: 'done', task: evil, worker: evil, error: JSON.stringify(error), result: `"${'\u202e'}"` }
    await cli.redis.hset(keys('q').job('x'), { ...record, chain: 'x', steps })
    for (const args of [
      ['dead'],
      ['dead', '--json'],
      ['jobs', '--state', 'retrying'],
      ['job', 'x'],
      ['job', 'x', '--json'],
    ]) {
      const { out, err } = await run(args)
      expect(out).toMatch(/owned/)
      expect((out + err).replaceAll('\n', ''), args.join(' ')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
  }, 30_000)
})
