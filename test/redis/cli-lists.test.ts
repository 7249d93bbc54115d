import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli

const fakeWorker = async (id: string, card: object, stats: object | undefined, leaseEnd: number) => {
  const queue = (card as { queue?: string }).queue ?? 'default'
  await cli.redis.hset(`${cli.namespace}:workers`, id, JSON.stringify({ id, queue, tasks: {}, ...card }))
  if (stats) await cli.redis.hset(`${cli.namespace}:stats`, id, JSON.stringify(stats))
  await cli.redis.zadd(`${cli.namespace}:{${queue}}:leases`, leaseEnd, id)
}
const later = Date.now() + 3_600_000

describe('the lists', () => {
  it('teach the next command while the registry is empty', async () => {
    for (const name of ['tasks', 'workers', 'queues']) {
      const { code, out, err } = await run([name])
      expect({ code, out }).toEqual({ code: 0, out: '' })
      expect(err).toContain('pshub worker ./tasks.mjs')
      expect((await run([name, '--json'])).out).toBe('[]\n')
    }
  })

  it('tasks: aligned, marked in words where nobody serves, with a warning of conflicts', async () => {
    await cli.worker()
    await cli.redis.hset(
      `${cli.namespace}:tasks`,
      'old:1.0',
      JSON.stringify({ task: 'old:1.0', queue: 'attic', timeoutMs: 90_000 }),
    )
    await fakeWorker('other', { host: 'h', tasks: { 'echo:1.2': 'another digest' } }, undefined, later)
    const { code, out, err } = await run(['tasks'])
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    const figures = 'CALLS/S  ERRORS  BACKLOG ms  QUEUE WAIT ms  EXEC ms'
    const none = '      0       -           -              -        -'
    expect(lines[0]).toBe(`TASK       QUEUE    WORKERS  ${figures}  TIMEOUT  IDEMPOTENT  DESCRIPTION`)
    expect(lines).toContain(`add:1.0    default        1  ${none}       5s  yes         Adds two numbers`)
    expect(lines).toContain(`echo:1.2   default        2  ${none}       5s  no`)
    expect(lines).toContain(`old:1.0    attic    retired  ${none}   1m 30s  no`)
    expect(err).toContain('Warning: live workers declare echo:1.2 with different schemas')
    expect((await run(['tasks', 'ad'])).out.split('\n')).toHaveLength(3)
    expect((await run(['tasks', 'ehco'])).err).toContain('Did you mean echo:1.2?')
    const details = (await run(['tasks', 'add:1.0'])).out
    for (const part of ['More of it.', 'idempotent    yes', '"additionalProperties": false', 'result:'])
      expect(details).toContain(part)
  })

  it('workers: live, draining and lost, with numbers by their last digit', async () => {
    const seen = Date.now() - 65_000
    const counters = { ok: 12_345, failed: 6, expired: 0, malformed: 0 }
    const card = { host: 'alpha', pid: 7, slots: 8, tasks: { 'a:1.0': 'x' } }
    await fakeWorker('live-worker-1', card, { seen, busy: 3, draining: false, counters }, later)
    await fakeWorker('drain-worker-1', { ...card, host: 'beta' }, { seen, busy: 0, draining: true, counters }, later)
    await fakeWorker('lost-worker-1', { queue: 'gone', ...card }, { seen, busy: 0, draining: false, counters }, 1)
    await fakeWorker('strange', { queue: 'odd', host: { x: '\u001b[2J' }, tasks: null }, undefined, later)
    const { code, out } = await run(['workers'])
    expect(code).toBe(0)
    expect(out).toMatch(
      /^live-wor {2}default {2}alpha\/7 +3\/8 {6}- {8}0 .* {6}1 {2}12345 {7}6 {2}1m .*s ago {2}live$/m,
    )
    expect(out).toMatch(/^drain-wo .*draining$/m)
    expect(out).toMatch(/^lost-wor .*lost$/m)
    expect(out).toMatch(/^strange .*\?\/0 .* 0 {6}\? {7}\? {10}\? {2}live$/m)
  })

  it('queues: a backlog that nobody serves is said in words', async () => {
    await cli.redis.hset(`${cli.namespace}:tasks`, 'x:1.0', JSON.stringify({ task: 'x:1.0', queue: 'busy' }))
    const at = (Date.now() - 30_000) * 1000
    await cli.redis.rpush(`${cli.namespace}:{busy}:calls`, `{"at":${at},"id":"x"}`, `{"at":${at},"id":"y"}`)
    const { code, out, err } = await run(['queues'])
    expect(code).toBe(0)
    expect(out).toMatch(/^busy {9}2 +\d[\d.]*s {5}0 {5}0 {5}0 {3}0\/0 {5}none {6}- {8}0 /m)
    expect(err).toBe(
      'Warning: 2 requests wait in busy, which no live worker serves. Start one: pshub worker <module> --queue busy\n',
    )
    await cli.redis.del(`${cli.namespace}:{busy}:calls`)
    expect(JSON.parse((await run(['queues', '--json'])).out)[0].oldestMs).toBe(null)
  })

  it('show nothing that a terminal would obey', async () => {
    const evil = '\u001b]0;owned\u0007\u009b31m\u202e'
    const card = { task: 'evil:1.0', queue: `q${evil}`, description: `${evil}\nmore`, args: { [evil]: evil } }
    await cli.redis.hset(`${cli.namespace}:tasks`, 'evil:1.0', JSON.stringify(card))
    await fakeWorker('evil', { host: evil, pid: evil, tasks: { 'evil:1.0': evil } }, { seen: evil, busy: evil }, later)
    await cli.redis.rpush(`${cli.namespace}:{q${evil}}:calls`, 'x')
    const slow = { id: 'evil', at: 1, us: { backlog: 1, queue: 1, exec: 1 }, from: evil, code: evil, loopMs: evil }
    await cli.redis.hset(`${cli.namespace}:slow`, 'evil', JSON.stringify({ 'evil:1.0': [slow] }))
    for (const args of [
      ['tasks'],
      ['tasks', '--json'],
      ['tasks', 'evil:1.0'],
      ['workers'],
      ['queues'],
      ['top', '--once'],
      ['top', '--json'],
      ['slow'],
      ['slow', '--json'],
      ['call', 'evil'],
    ]) {
      const { out, err } = await run(args)
      expect(out + err).toMatch(/evil|owned/)
      expect((out + err).replaceAll('\n', ''), args.join(' ')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      if (args[0] === 'queues') expect(err).not.toContain('--queue')
    }
  })

  it('need no more than the rights to look', async () => {
    await cli.worker()
    const rules = rulesOf('view', makeKeys(cli.namespace))
    await cli.redis.call('ACL', 'SETUSER', 'viewer', 'reset', 'on', '>secret', ...rules.split(' '))
    const env = { PSHUB_REDIS: cli.url.replace('//', '//viewer:secret@') }
    for (const [name, shown] of Object.entries({
      tasks: 'add:1.0',
      workers: 'live',
      queues: 'default',
      top: '1 live',
    })) {
      const { code, out, err } = await run([name], { env })
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain(shown)
    }
    expect((await run(['check', '--for', 'view'], { env })).code).toBe(0)
    await cli.redis.call('ACL', 'SETUSER', 'viewer', '-hkeys')
    expect(await run(['workers'], { env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^Redis rejected: the Redis user lacks a right; 'pshub check' names it.*'hkeys' command/,
      ),
    })
    await cli.redis.call('ACL', 'DELUSER', 'viewer')
  })
})
