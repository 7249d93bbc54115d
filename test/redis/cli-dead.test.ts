import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { keysOf, someOfEach } from '../support/cli-jobs.ts'

const cli = useCli()
const { run } = cli
const keys = (queue?: string) => keysOf(cli, queue)

describe('pshub dead', () => {
  it('lists, tries again and deletes', async () => {
    expect(await run(['dead'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('No dead job') })
    await someOfEach(cli)
    const listed = await run(['dead', 'list'])
    expect(listed.out).toMatch(/^ *DEAD SINCE {2}QUEUE +TASK +TRIES {2}CODE +FROM +ID +MESSAGE\n/)
    expect(listed.out).toMatch(/ ago {2}default {2}fail:1\.0 +1 {2}TaskFailed .*no\\u001b\[31mluck\n/)
    expect((await run(['dead', '--limit', '1'])).err).toContain('There are more')
    const all = JSON.parse((await run(['dead', '--json'])).out)
    expect(all).toMatchObject([{ task: 'fail:1.0', args: {}, errors: [{ code: 'TaskFailed' }] }, {}])
    expect(await run(['dead', 'delete'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('2 dead jobs match. To see them: pshub dead list. To delete them all, pass --yes.'),
    })
    expect(await run(['dead', 'retry', '--args', '{}'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--args works for one job, but 2 match'),
    })
    expect((await run(['dead', 'retry', '--dry-run'])).out).toBe('2 dead jobs would be retried; nothing was changed.\n')
    expect((await run(['dead', 'delete', '--dry-run', '--json'])).out).toBe('{"matching":2}\n')
    expect(await cli.redis.zcard(keys().dead)).toBe(2)
    const [first, second] = all.map(({ id }: { id: string }) => id)
    expect(await run(['dead', 'retry', '--id', first, '--args', '{"other":1}'])).toEqual({
      code: 0,
      out: '1 dead job is retried.\n',
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
  }, 60_000)

  it.each([
    [['lsit'], "pshub dead can do list, retry, delete, not 'lsit'. Did you mean list?"],
    [['retry', '--id', 'a b'], "'a b' is not the id of a job."],
    [['delete', '--args', '{}'], '--args belongs to: pshub dead retry'],
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
  })
})
