import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { targetOf } from '../../src/cli/forward-target.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { startHookServer } from '../support/hook-server.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
let servers: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers) await server.close()
  servers = []
})

const serve = async (...given: Parameters<typeof startHookServer>) => {
  const server = await startHookServer(...given)
  servers.push(server)
  return server
}

const enqueue = async (...args: string[]) => {
  const { code, out, err } = await cli.run(['enqueue', ...args, '--forward', 'billing'])
  expect([code, err]).toEqual([0, ''])
  return out.trim()
}

const startForwarder = async (args: string[], env?: Record<string, string>) => {
  const forwarder = cli.start(['forward', 'billing', ...args], env)
  await forwarder.shows('worker started')
  return forwarder
}

describe('pshub forward', () => {
  it('posts jobs, signed with what the environment or a file says, and stops as a worker does', async () => {
    const server = await serve()
    const secret = `whsec_${Buffer.from('s'.repeat(32)).toString('base64')}`
    writeFileSync(join(cli.folder, 'headers.json'), '{"authorization":"Bearer x"}')
    const id = await enqueue('paid', '{"order":17}', '--retries', '1')
    const args = ['--to', server.url, '--headers-file', 'headers.json']
    const forwarder = await startForwarder(args, { PSHUB_FORWARD_SECRET: secret })
    await eventually(() => server.deliveries.length === 1)
    const [{ headers, body }] = server.deliveries as [(typeof server.deliveries)[0]]
    expect(JSON.parse(body)).toMatchObject({ id, task: 'paid', args: { order: 17 } })
    expect(headers.authorization).toBe('Bearer x')
    const signature = createHmac('sha256', Buffer.from('s'.repeat(32)))
      .update(`${id}.${headers['webhook-timestamp']}.${body}`)
      .digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    forwarder.signal('SIGTERM')
    expect((await forwarder.ended).code).toBe(0)
    writeFileSync(join(cli.folder, 'secrets'), `${secret}\n${secret}\n`)
    await enqueue('paid', '{}')
    await startForwarder(['--to', server.url, '--secret-file', 'secrets'])
    await eventually(() => server.deliveries.length === 2)
    expect(server.deliveries[1]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
  })

  it('that is killed behind the confirmation and ahead of its end sends the job again, under the same id', async () => {
    const list = `${cli.namespace}list`
    const module = cli.module(
      'killed.mjs',
      `import { redisList } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
      const list = redisList({ redis: ${JSON.stringify(cli.url)}, key: ${JSON.stringify(list)} })
      const forward = async (batch, signal) => {
        const taken = await list.forward(batch, signal)
        if (process.env.KILLED) process.kill(process.pid, 'SIGKILL')
        return taken
      }
      export default { forward, close: () => list.close() }`,
    )
    const ids = [await enqueue('paid', '{}'), await enqueue('paid', '{}', '--key', 'k')]
    const first = cli.start(['forward', 'billing', module], { KILLED: '1' })
    expect((await first.ended).code).toBeNull()
    expect(await cli.redis.llen(list)).toBe(2)
    await startForwarder([module])
    await eventually(async () => (await cli.redis.llen(list)) === 4)
    const sent = (await cli.redis.lrange(list, 0, -1)).map(text => JSON.parse(text).id)
    expect(sent.sort()).toEqual([...ids, ...ids].sort())
    const left = async () => (await cli.redis.keys(`${cli.namespace}:{forward.billing}:held:*`)).length
    await eventually(async () => (await left()) === 0)
  })

  it('puts jobs into a list, a stream and another hub, and does what a module says', async () => {
    const env = { PSHUB_FORWARD_TO: cli.url }
    const { stdin, stdout, stderr } = process
    const host = { env, cwd: cli.folder, stdin, stdout, stderr }
    const other = `${cli.namespace}other`
    const job = { id: 'x', task: 'paid:1.0', args: {}, attempt: 1, enqueuedMs: 1 }
    const list = await targetOf({ flags: { list: `${other}:list` }, host }, undefined)
    const stream = await targetOf({ flags: { stream: `${other}:stream`, 'max-length': '9' }, host }, undefined)
    const hub = await targetOf({ flags: { hub: other, queue: 'q' }, host }, undefined)
    for (const target of [list, stream, hub]) {
      await target.forward([job] as never, AbortSignal.timeout(30_000))
      await target.close?.()
    }
    expect(await cli.redis.llen(`${other}:list`)).toBe(1)
    expect(await cli.redis.xlen(`${other}:stream`)).toBe(1)
    expect(await cli.redis.llen(`${other}:{q}:jobs`)).toBe(1)
    const module = cli.module(
      'target.mjs',
      'export const target = { forward: batch => { console.log(batch.length, batch[0].task); return batch.map(job => job.id) } }\n',
    )
    const forwarder = await startForwarder([module])
    await enqueue('paid', '{}')
    await forwarder.shows('1 paid')
  })

  it('gets the jobs of a schedule that names it', async () => {
    const { out, err } = await cli.run(['schedules', 'add', 'nightly', '0 3 * * *', 'tick', '--forward', 'billing'])
    expect([err, out]).toEqual(['', expect.stringContaining('nightly enqueues tick in queue forward.billing')])
    expect((await cli.run(['schedules', 'remove', 'nightly'])).out).toContain('is removed')
    const wrong = await cli.run(['schedules', 'list', '--forward', 'billing'])
    expect(wrong.err).toContain('--forward belong to: pshub schedules add')
  })

  it('shows its jobs, waiting and dead, as those of any queue', async () => {
    const id = await enqueue('paid', '{"order":17}', '--key', 'order-17')
    expect((await cli.run(['jobs', '--queue', 'forward.billing', '--state', 'waiting'])).out).toContain(id)
    expect((await cli.run(['key', 'paid', 'order-17', '--queue', 'forward.billing'])).out).toContain('order-17')
    const server = await serve((_, response) => response.writeHead(400).end('no'))
    await startForwarder(['--to', server.url])
    await eventually(async () => (await cli.run(['dead', '--queue', 'forward.billing'])).out.includes(id))
    expect((await cli.run(['dead', '--queue', 'forward.billing'])).out).toContain('Refused')
    const again = await cli.run(['dead', 'retry', '--queue', 'forward.billing', '--yes'])
    expect(again.code).toBe(0)
    await eventually(() => server.deliveries.length === 2)
    expect((await cli.run(['queues'])).out).toContain('forward.billing')
  })

  it.each<[string[], string]>([
    [[], 'the name of the forwarder'],
    [['billing'], 'Pass a target'],
    [['billing', '--to', 'redis://u:geheim@127.0.0.1', '--list', 'a'], 'put the URL into PSHUB_FORWARD_TO'],
    [['billing', '--to', 'redis://u:ge/heim@127.0.0.1', '--list', 'a'], 'put the URL into PSHUB_FORWARD_TO'],
    [['billing', '--to', 'redis://x?password=geheim', '--list', 'a'], 'put the URL into PSHUB_FORWARD_TO'],
    [['billing', '--to', 'https://u:geheim@x'], "give the header 'authorization' instead"],
    [['billing', '--to', 'kafka://x'], '--to must begin with'],
    [['billing', './tasks.mjs', '--to', 'https://x'], 'omit --to'],
    [['billing', './tasks.mjs'], 'exports no target'],
    [['billing', '--to', 'https://x', '--headers-file', 'tasks.mjs'], 'must hold a JSON object'],
  ])('%j is a mistake', async (args, why) => {
    const { code, err } = await cli.run(['forward', ...args])
    expect(err).toContain(why)
    expect(err).not.toMatch(/ge.?heim/)
    expect(code).toBe(2)
  })
})
