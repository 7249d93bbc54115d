import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { keysOf } from '../support/cli-jobs.ts'

const cli = useCli()
const { run } = cli

/** A task with keys that some worker declared, and that none serves now. */
const declare = (keyed: 'ordered' | 'merged' = 'ordered', task = 'sync:1.0') => {
  const card = { task, queue: 'default', keyed, at: Math.floor(Date.now() / 1000) }
  return cli.redis.hset(`${cli.namespace}:tasks`, card.task, JSON.stringify(card))
}

/** A merged task, and three payloads of one key that has failed once and waits. */
const mergedKey = async () => {
  await declare('merged')
  for (const [score, args] of [
    ['3', '{"version":3}'],
    ['-1', '{"version":1}'],
    ['2.5', '{"version":2}'],
  ])
    expect((await run(['enqueue', 'sync:1.0', args!, '--key', 'order-17', `--score=${score}`])).code).toBe(0)
}
const key = (...more: string[]) => run(['key', 'sync:1.0', 'order-17', ...more])

describe('jobs with a key on the command line', () => {
  it('are enqueued with it, refused without, and listed with it', async () => {
    await declare()
    const refused = await run(['enqueue', 'sync:1.0', '{"version":7}'])
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('--key order-17')
    const { out, code } = await run(['enqueue', 'sync:1.0', '{"version":7}', '--key', 'order-17'])
    expect(code).toBe(0)
    const [text] = await cli.redis.lrange(keysOf(cli).line('sync:1.0', 'order-17'), 0, -1)
    expect(JSON.parse(text!)).toMatchObject({ id: out.trim(), job: { key: 'order-17' }, args: { version: 7 } })
    expect((await run(['jobs'])).out).toMatch(/\ndefault +1 +0 +0 +0\n$/)
    const listed = await run(['jobs', '--state', 'waiting'])
    expect(listed.out).toMatch(/QUEUE +TASK +KEY +PRIORITY .*\n.* default +sync:1\.0 +order-17 +normal /)
    expect((await run(['tasks', 'sync:1.0'])).out).toContain('jobs with the same --key run one at a time')
  })

  it('have their figures in the list of queues, where there are any', async () => {
    await declare('merged')
    expect((await run(['queues'])).out).not.toContain('KEY')
    await run(['enqueue', 'sync:1.0', '1', '--key', 'a', '--delay', '1h'])
    await run(['enqueue', 'sync:1.0', '1', '--key', 'b'])
    await cli.redis.hset(keysOf(cli).running('sync:1.0'), 'c', `${(Date.now() - 90_000) * 1000} w m-1`)
    const { out } = await run(['queues'])
    expect(out).toMatch(/KEYS +KEY LAG +KEYS RUNNING +LONGEST RUN .*\n.* 2 +\S+ +1 +1m 3\ds /)
    expect((await run(['top', '--once'])).out).toContain('KEYS RUNNING')
  })
})

describe('merged jobs on the command line', () => {
  it('are enqueued with scores, in a file too, and are one line of the list', async () => {
    await mergedKey()
    const lines = '["sync:1.0",{"version":9},{"key":"order-17","score":9}]\n["sync:1.0",1,{"key":"b","score":1}]\n'
    const enqueued = await run(['enqueue', '--file', '-'], { input: lines })
    expect([enqueued.code, enqueued.err]).toEqual([0, ''])
    const flat = await cli.redis.zrange(keysOf(cli).merged('sync:1.0', 'order-17'), '0', '-1', 'WITHSCORES')
    const scores = ['{"version":1}', '-1', '{"version":2}', '2.5', '{"version":3}', '3', '{"version":9}', '9']
    expect(flat).toEqual(scores)
    const listed = await run(['jobs', '--state', 'waiting', '--key', 'order-17'])
    expect(listed.out).toMatch(/KEY +PAYLOADS +PRIORITY .*\n.* order-17 +4 +normal .* -\n$/)
    expect((await run(['tasks', 'sync:1.0'])).out).toContain('merged: payloads with the same --key')
  })
})

describe('pshub key', () => {
  it('shows where a key is, its payloads with scores, its failures and who runs it', async () => {
    await mergedKey()
    const { out, code } = await key()
    expect(code).toBe(0)
    expect(out).toMatch(/^order-17\n {2}task +sync:1\.0\n {2}queue +default\n {2}state +due: .*\n {2}due +2.* ago\)\n/)
    expect(out).toMatch(/waiting +3\n\npayloads:\n {2}SCORE {2}PAYLOAD\n {5}-1 .*1}\n {4}2\.5 .*2}\n {6}3 .*3}\n$/)
    expect((await key('show', '--limit', '2')).out).toContain('  1 more\n')
    const errors = [{ at: Date.now() - 5000, code: 'TaskFailed', message: 'the\u001b[2J shop is closed' }]
    await cli.redis.hset(keysOf(cli).tried('sync:1.0'), 'order-17', JSON.stringify({ tries: 2, errors }))
    const fence = (Date.now() - 60_000) * 1000
    await cli.redis.hset(keysOf(cli).running('sync:1.0'), 'order-17', `${fence} w-7 m-${fence}`)
    const running = await key()
    expect(running.out).toMatch(/state +running\n/)
    expect(running.out).toMatch(
      new RegExp(`started +2.*worker +w-7\\n {2}fence +${fence}\\n {2}job +m-${fence}\\n`, 's'),
    )
    expect(running.out).toMatch(/failed +2 times\n/)
    expect(running.out).toMatch(/WHEN +CODE +MESSAGE\n +\S+ ago +TaskFailed +the\\u001b\[2J shop is closed\n/)
    expect(JSON.parse((await key('--json')).out)).toMatchObject({
      ...{ key: 'order-17', state: 'running', run: { fence, worker: 'w-7' }, waiting: 3, tries: 2, dead: [] },
      payloads: [{ score: -1, args: { version: 1 } }, { score: 2.5 }, { score: 3 }],
    })
    const busy = await key('skip')
    expect([busy.code, busy.err]).toEqual([3, expect.stringContaining('because it is running now')])
  })

  it('skips the payload that it is stuck at, which is dead and can be put back', async () => {
    await mergedKey()
    const skipped = await key('skip')
    expect([skipped.code, skipped.out]).toEqual([
      0,
      'The first job of key "order-17" of sync:1.0 is dead now; the next one is due.\n',
    ])
    expect((await key()).out).toMatch(/dead:\n +DEAD SINCE +SCORE +CODE +ID +ARGUMENTS\n.* -1 .*{"version":1}\n$/)
    await cli.redis.zadd(keysOf(cli).dead, 1, '{"id":"other","task":"sync:1.0","job":{"key":"b"}}')
    const listed = await run(['dead', '--key', 'order-17'])
    expect(listed.out).toMatch(/TASK +KEY +TRIES .*\n.* sync:1\.0 +order-17 /)
    expect(listed.out).not.toContain('other')
    expect((await key('retry')).out).toBe('1 dead job of key "order-17" of sync:1.0 waits again.\n')
    const again = await key('retry')
    expect([again.code, again.err]).toEqual([1, 'key "order-17" of sync:1.0 has no dead jobs.\n'])
    expect((await key('--json')).out).toContain('"waiting":3')
  })

  it('has a key run now that waits for its time', async () => {
    await declare('merged')
    await run(['enqueue', 'sync:1.0', '1', '--key', 'order-17', '--delay', '1h'])
    expect((await key()).out).toMatch(/state +later: its time has not come\n {2}due +2.*\(in (1h|59m 5\ds)\)/)
    expect((await key('run')).out).toContain('is due now: it runs as soon as a slot is idle.')
    expect((await key()).out).toMatch(/state +due/)
    expect(JSON.parse((await key('run', '--json')).out)).toEqual({
      ...{ queue: 'default', task: 'sync:1.0', key: 'order-17', waiting: 1 },
    })
  })

  it('deletes payloads, and asks before it is more than one', async () => {
    await mergedKey()
    const asked = await key('delete')
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('To delete them all, pass --yes.')])
    const deleted = await key('delete', '--yes')
    expect([deleted.code, deleted.out]).toEqual([0, 'Deleted 3 of key "order-17" of sync:1.0.\n'])
    const again = await key('delete')
    expect([again.code, again.err]).toEqual([1, 'Nothing waits in key "order-17" of sync:1.0.\n'])
    expect((await key()).out).toMatch(/state +empty: /)
    expect(await cli.redis.exists(keysOf(cli).lined)).toBe(0)
  })

  it('cancels the jobs of a line', async () => {
    await declare()
    for (const n of [1, 2, 3]) await run(['enqueue', 'sync:1.0', String(n), '--key', 'order-17'])
    await run(['enqueue', 'sync:1.0', '4', '--key', 'other'])
    expect((await key()).out).toMatch(/jobs in line:\n +ENQUEUED +TRIES +ID +ARGUMENTS\n.* 1\n.* 2\n.* 3\n$/)
    const { code, out } = await key('delete', '--yes')
    expect([code, out]).toEqual([0, 'Deleted 3 of key "order-17" of sync:1.0.\n'])
    expect((await key()).out).toMatch(/state +empty: /)
    expect(JSON.parse((await run(['jobs', '--state', 'waiting', '--json'])).out)).toMatchObject([{ key: 'other' }])
    expect(await cli.redis.hget(keysOf(cli).lined, 'sync:1.0')).toBe('1')
  })
})
