import { describe, expect, it } from 'vitest'
import { defineTask, Hub } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run } = cli

const findings = async (): Promise<{ what: string; level: string; message: string }[]> =>
  JSON.parse((await run(['doctor', '--json'])).out).findings
const of = async (what: string) =>
  (await findings()).filter(each => each.what === what).map(({ level, message }) => `${level} ${message}`)

describe('pshub doctor', () => {
  it('has nothing to say against a namespace that is well', async () => {
    await cli.worker()
    await run(['call', 'add', '{"a":1}'])
    await run(['enqueue', 'echo', '{}', '--tracked'])
    const { code, out } = await run(['doctor'])
    expect(code).toBe(0)
    const lines = out.split('\n')
    for (const what of ['settings', 'clock', 'slow log', 'versions', 'schemas', 'lost workers', 'keys'])
      expect(
        lines.find(line => line.includes(` ${what} `)),
        out,
      ).toMatch(/^ok /)
    expect((await run(['check'])).out).not.toContain('slow log')
  }, 60_000)

  it('finds settings that close connections', async () => {
    await cli.redis.config('SET', 'timeout', '30')
    await cli.redis.config('SET', 'tcp-keepalive', '0')
    expect(await of('settings')).toEqual([
      expect.stringMatching(/^warning Redis closes .* idle for 30 s.*config set timeout 0/),
      expect.stringMatching(/^warning tcp-keepalive is off.*config set tcp-keepalive 300/),
    ])
    await cli.redis.config('SET', 'timeout', '0')
    await cli.redis.config('SET', 'tcp-keepalive', '300')
  })

  it('finds keys that are nobody of ours', async () => {
    await cli.redis.set(`${cli.namespace}:users:5`, 'x')
    await cli.redis.set(`${cli.namespace}x:else`, 'another namespace')
    expect(await of('keys')).toEqual([
      expect.stringMatching(new RegExp(`^warning "${cli.namespace}:users:5" in this namespace`)),
    ])
    await cli.redis.del(`${cli.namespace}:users:5`, `${cli.namespace}x:else`)
  })

  it('finds workers of one task with different schemas, and of different versions', async () => {
    for (const type of ['object', 'string'] as const)
      await cli.worker({}, [defineTask('t:1.0', { args: { type } }, () => 1)])
    expect(await of('schemas')).toEqual([
      expect.stringMatching(/^warning live workers declare t:1\.0 with different schemas.*new version/),
    ])
    const cards = await cli.redis.hgetall(`${cli.namespace}:workers`)
    const [[id, card]] = Object.entries(cards) as [[string, string]]
    const { client } = JSON.parse(card)
    await cli.redis.hset(
      `${cli.namespace}:workers`,
      id,
      JSON.stringify({ ...JSON.parse(card), client: client.replace(/[\d.]+$/, '0.0.1') }),
    )
    expect(await of('versions')).toEqual([
      expect.stringMatching(/^warning live workers run different versions: .*0\.0\.1 and .*restart the older ones/),
    ])
  }, 60_000)

  it('finds what a worker holds that is gone, while nobody takes it over', async () => {
    const keys = makeKeys(cli.namespace).queue('default')
    const card = { id: 'gone', queue: 'default', host: 'h', pid: 1, slots: 4, tasks: {} }
    await cli.redis.hset(`${cli.namespace}:workers`, 'gone', JSON.stringify(card))
    await cli.redis.zadd(keys.leases, 1, 'gone')
    await cli.redis.hset(keys.held('gone'), 'call', '{}')
    expect(await run(['doctor'])).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /\nerror +lost workers .*is gone and holds 1 of queue default.* pshub worker --queue default\n/,
      ),
    })
  })
})

describe('pshub trace', () => {
  const newest = async (list: string): Promise<{ id: string }[]> => JSON.parse((await run([list, '--json'])).out)

  it('shows how a call failed, and a job', async () => {
    await cli.worker()
    await run(['call', 'fail', '--name', 'web'])
    const [{ id }] = (await eventually(async () => {
      const found = await newest('failures')
      return found.length > 0 ? found : undefined
    }))! as [{ id: string }]
    const shown = await run(['trace', id])
    expect(shown.code).toBe(0)
    expect(shown.out).toMatch(
      /^\S{22}\n {2}task +fail:1\.0\n {2}from +web\n {2}failed +.* ago on .* of queue default, after [\d.]+ ms.*: TaskFailed: no/,
    )
    const job = (await run(['enqueue', 'add', '{"a":2}', '--tracked'])).out.trim()
    const found = await eventually(async () => {
      const { out } = await run(['trace', job])
      return out.includes('done') ? out : undefined
    })
    expect(found).toMatch(/ job +done in queue default\n {2}enqueued .*\n {2}started .*\n {2}ended /)
    const later = (await run(['enqueue', 'add', '{"a":2}', '--delay', '1h'])).out.trim()
    expect((await run(['trace', later])).out).toMatch(/ job +scheduled in queue default, not tracked\n[\s\S]* due +in /)
    expect(JSON.parse((await run(['trace', later, '--json'])).out)).toMatchObject({
      id: later,
      job: { state: 'scheduled' },
      failures: [],
    })
  }, 60_000)

  it('has one line for each try of a job, with what the job and its worker say of it', async () => {
    await cli.worker()
    const hub = new Hub({ redis: cli.url, namespace: cli.namespace, logLevel: 'silent' })
    const { id } = await hub.enqueue('fail:1.0', {}, { retries: 2, backoff: 1 })
    await hub.close()
    const line = /^ {2}failed +\S+ ago on \S+ of queue default, after [\d.]+ ms.*: TaskFailed: no/
    const shown = await eventually(async () => {
      const { out } = await run(['trace', id])
      return out.split('\n').filter(each => line.test(each)).length === 3 ? out : undefined
    })
    expect(shown!.split('TaskFailed').length - 1, shown).toBe(3)
    expect(shown).toMatch(/\n {2}failures +3\n/)
  }, 60_000)

  it('shows who holds a call, and what waits before one', async () => {
    await cli.worker({ slots: 1 })
    const hub = new Hub({ redis: cli.url, namespace: cli.namespace, logLevel: 'silent' })
    for (const _ of [1, 2]) hub.call('slow', { ms: 60_000 }).catch(() => undefined)
    const list = `${cli.namespace}:{default}:calls`
    const held = `${cli.namespace}:{default}:held:*`
    // The one that is to be run is in the list, too, until it is taken.
    await eventually(async () => (await cli.redis.keys(held)).length === 1 && (await cli.redis.llen(list)) === 1)
    const [text] = await cli.redis.lrange(list, 0, 0)
    const waiting = JSON.parse(text!).id
    expect((await run(['trace', waiting])).out).toMatch(
      / task +slow:1\.0\n[\s\S]* waits +in queue default, 0 before it\n/,
    )
    const [key] = await cli.redis.keys(held)
    const [running] = await cli.redis.hkeys(key!)
    expect((await run(['trace', running!])).out).toMatch(
      / is held +by worker \S+ \(.*\) of queue default, which is live/,
    )
    await hub.close()
  }, 60_000)

  it('says where it looked for what is nowhere', async () => {
    const nothing = await run(['trace', 'hAx4WmHgRkt9nVrqo0bLmQ'])
    expect(nothing).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringContaining('There is no record of hAx4WmHgRkt9nVrqo0bLmQ'),
    })
    expect((await run(['trace', 'no id'])).code).toBe(2)
  })
})
