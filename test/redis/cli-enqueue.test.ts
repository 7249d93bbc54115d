import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { declared, keysOf } from '../support/cli-jobs.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run, start } = cli
const keys = (queue?: string) => keysOf(cli, queue)
const idLine = /^[\w-]{22}\n$/

describe('pshub enqueue', () => {
  it('prints the id, and runs the job in the way that its flags say', async () => {
    const first = await run(['enqueue', 'report:1.0', '{"month":11}', '--queue', 'later', '--name', 'shop'])
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(idLine), err: '' })
    const [plain] = (await cli.redis.lrange(keys('later').jobs, 0, -1)).map(text => JSON.parse(text))
    expect(plain).toMatchObject({ id: first.out.trim(), task: 'report:1.0', args: { month: 11 }, from: 'shop' })
    const flags = ['--delay', '5m', '--retries', '3', '--backoff', '1s,10s', '--expires', '1h', '--keep', '10m']
    const before = Date.now() - 1000
    await run(['enqueue', 'report:1.0', '--queue', 'later', '--priority', 'low', ...flags])
    const [delayed, due] = await cli.redis.zrange(keys('later').scheduled, '0', '-1', 'WITHSCORES')
    expect(JSON.parse(delayed!)).toMatchObject({
      ttl: 3_600_000,
      job: { retries: 3, backoff: [1000, 10_000], priority: 'low', keep: 600_000 },
    })
    expect(Number(due)).toBeGreaterThanOrEqual(before + 300_000)
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

  it('is confirmed by a replica where it is durable, and says so where there is none', async () => {
    const { code, out, err } = await run(['enqueue', 'report:1.0', '--queue', 'durable', '--durable'])
    expect({ code, out }).toEqual({ code: 4, out: '' })
    expect(err).toMatch(/^OutcomeUnknown: The job is in Redis, but no replica/)
    expect(await cli.redis.llen(keys('durable').jobs)).toBe(1)
  })

  it('says where one like it is there', async () => {
    const unique = ['enqueue', 'report:1.0', '{"a":1}', '--queue', 'later', '--unique']
    const first = await run(unique)
    const twin = await run(unique)
    expect(twin).toEqual({
      code: 0,
      out: first.out,
      err: `Nothing was enqueued: it is a duplicate of ${first.out.trim()}.\n`,
    })
    expect((await run(['enqueue', 'report:1.0', '--queue', 'later', '--unique=x'])).out).not.toBe(first.out)
    const json = await run([...unique, '--json'])
    expect(JSON.parse(json.out)).toMatchObject({ id: first.out.trim(), isTwin: true })
    expect(json.err).toBe('')
  })

  it('waits for the result, and tells how a job failed', async () => {
    const worker = await cli.worker()
    const added = await run(['enqueue', 'add', '{"a":1,"b":2}', '--wait'])
    expect(added).toEqual({ code: 0, out: '3\n', err: expect.stringMatching(idLine) })
    expect(await run(['enqueue', 'add', '{"a":1}', '--wait', '--json'])).toEqual({ code: 0, out: '1\n', err: '' })
    const failed = await run(['enqueue', 'fail', '--retries', '0', '--wait'])
    expect([failed.code, failed.out]).toEqual([1, ''])
    expect(failed.err).toMatch(/^[\w-]{22}\nTaskFailed: no\\u001b\[31mluck\n/)
    const late = await run(['enqueue', 'slow', '{"ms":30000}', '--wait', '--timeout', '200ms'])
    expect([late.code, late.err]).toEqual([4, expect.stringContaining('Timeout: Job ')])
    const given = start(['enqueue', 'slow', '{"ms":30000}', '--wait'])
    await eventually(() => worker.busy === 2)
    given.signal('SIGINT')
    expect(await given.ended).toMatchObject({ code: 130, err: expect.stringContaining('Aborted: ') })
  }, 60_000)

  it('enqueues what a file says, all or nothing of what is wrong, and only looks with --dry-run', async () => {
    await declared(cli)
    const file = (lines: string[], name = 'entries.jsonl') => {
      writeFileSync(join(cli.folder, name), `\ufeff${lines.join('\n')}\n`)
      return ['--file', name]
    }
    const good = ['["add:1.0",{"a":1}]', '', '["echo:1.2",[2],{"delayMs":60000}]', '["echo",3,{"unique":"x"}]']
    expect(await run(['enqueue', ...file(good), '--dry-run'])).toEqual({
      code: 0,
      out: '3 jobs can be enqueued; nothing was enqueued.\n',
      err: '',
    })
    expect(await cli.redis.exists(keys().jobs)).toBe(0)
    expect(await run(['enqueue', ...file(good)])).toEqual({ code: 0, out: '3 jobs are enqueued.\n', err: '' })
    expect([await cli.redis.llen(keys().jobs), await cli.redis.zcard(keys().scheduled)]).toEqual([2, 1])
    const again = JSON.parse((await run(['enqueue', ...file(good), '--json'])).out)
    expect(again).toEqual({ enqueued: 2, twins: 1, ids: Array(3).fill(expect.any(String)) })
    const before = await cli.redis.llen(keys().jobs)
    const many = Array.from({ length: 10_500 }, (_, n) => `{"a":${n}}`)
    expect(await run(['enqueue', 'add', '--file', '-', '--priority', 'low'], { input: many.join('\n') })).toEqual({
      code: 0,
      out: '10500 jobs are enqueued.\n',
      err: '',
    })
    expect(await cli.redis.llen(keys().jobsLow)).toBe(10_500)
    many[10_100] = '{"a":"x"}'
    const wrong = await run(['enqueue', 'add', '--file', '-'], { input: many.join('\n') })
    expect(wrong).toMatchObject({ code: 3, out: '' })
    expect(wrong.err).toMatch(
      /^Line 10101 is wrong, so nothing was enqueued\.\nInvalidArgs: The arguments of add:1\.0 do not match the schema:\n +\/a +must be number\n/,
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

  it('only looks at one job with --dry-run', async () => {
    await declared(cli)
    expect(await run(['enqueue', 'add', '{"a":1}', '--dry-run'])).toEqual({
      code: 0,
      out: '1 job can be enqueued; nothing was enqueued.\n',
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
    [['t', '--expires', '-1s'], '--expires needs a value'],
    [['t', '--keep', '1w'], '--keep must be a duration like'],
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
  })
})
