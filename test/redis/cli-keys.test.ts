import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { keysOf } from '../support/cli-jobs.ts'

const cli = useCli()
const { run } = cli

/** A task with keys that some worker declared, and that none serves now. */
const declare = () => {
  const card = { task: 'sync:1.0', queue: 'default', keyed: 'ordered', at: Math.floor(Date.now() / 1000) }
  return cli.redis.hset(`${cli.namespace}:tasks`, card.task, JSON.stringify(card))
}

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
    expect((await run(['tasks', 'sync:1.0'])).out).toContain('those with the same --key run one after the other')
  })
})
