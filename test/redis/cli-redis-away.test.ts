import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort, startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run, start } = cli

const nowhere = 'redis://127.0.0.1:1'

describe('while Redis is away', () => {
  /** Each gives up after about two seconds; the rest is for a process that starts on a busy machine. */
  const soonMs = 4500
  it('every command says so in one sentence, soon, and ends with 3', async () => {
    const redisUrl = nowhere.replace('//', '//user:pa@ss@')
    const sentence = `Redis at ${nowhere} could not be reached: connect ECONNREFUSED 127.0.0.1:1; set --redis or PSHUB_REDIS.\n`
    for (const args of [['tasks'], ['workers'], ['queues'], ['slow'], ['top'], ['check'], ['call', 'add']]) {
      const startedAt = performance.now()
      expect(await run([...args, '--redis', redisUrl]), args[0]).toEqual({ code: 3, out: '', err: sentence })
      expect(performance.now() - startedAt).toBeLessThan(soonMs)
    }
    const json = await run(['check', '--redis', nowhere, '--json'])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
  })

  it('a missing or wrong password is told as what it is', async () => {
    const locked = await startServer({ args: ['--requirepass', 'secret'] })
    onTestFinished(() => locked.stop())
    const check = (url: string) => run(['check', '--redis', url])
    expect((await check(locked.url)).err).toMatch(
      /does not let us in: Redis wants a password; give it in its URL, .*\(NOAUTH [^;]*[^.]\); set --redis/,
    )
    const wrong = await check(locked.url.replace('//', '//:guess@'))
    expect(wrong.code).toBe(3)
    expect(wrong.err).toMatch(/does not let us in: Redis does not accept .*\(WRONGPASS [^;]*[^.]\); set --redis/)
    expect(wrong.err).not.toContain('guess')
    const right = await check(locked.url.replace('//', '//:secret@'))
    expect(right.code).toBe(0)
    expect(right.out).not.toContain('secret')
  })

  it('a worker whose password was changed says so as an error, and comes back when it is right', async () => {
    const password = (text: string) =>
      cli.redis.call('ACL', 'SETUSER', 'server', 'on', 'resetpass', `>${text}`, 'allkeys', '+@all')
    await password('secret')
    const url = cli.url.replace('//', '//server:secret@')
    const worker = start(['worker', './tasks.mjs', '--redis', url])
    await worker.shows('worker started')
    await password('other')
    await cli.redis.call('CLIENT', 'KILL', 'USER', 'server')
    await worker.shows('"msg":"Redis does not let us in; trying again"')
    await worker.shows('"reason":"Redis does not accept this user or password; correct them in its URL')
    await password('secret')
    const call = () => run(['call', 'add', '{"a":1}'])
    await eventually(async () => (await call()).out === '1\n', 10_000)
    worker.signal('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    const refused = err.split('\n').filter(line => line.includes('does not let us in'))
    expect(new Set(refused.map(line => JSON.parse(line).level))).toEqual(new Set([50]))
    expect(err).not.toContain('other')
    await cli.redis.call('ACL', 'DELUSER', 'server')
  })

  it('a spoilt registry is told as what Redis says of it', async () => {
    await cli.redis.set(`${cli.namespace}:tasks`, 'not a hash')
    const { code, err } = await run(['tasks'])
    expect(code).toBe(1)
    expect(err).toMatch(/^Warning: \S+:tasks cannot be read and counts as absent: .*WRONGTYPE/)
  })

  it('a server that accepts and never answers is not waited for', async () => {
    const silent = createServer(socket => socket.on('error', () => undefined))
    await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
    const { port } = silent.address() as { port: number }
    for (const [args, reason] of [
      [['tasks'], 'no answer within 1800 ms'],
      [['call', 'add'], 'no answer in time'],
    ] as const) {
      const startedAt = performance.now()
      const { code, err } = await run([...args, '--redis', `redis://127.0.0.1:${port}`])
      expect(code).toBe(3)
      expect(err).toBe(
        `Redis at redis://127.0.0.1:${port} could not be reached: ${reason}; set --redis or PSHUB_REDIS.\n`,
      )
      expect(performance.now() - startedAt).toBeLessThan(3500)
    }
    silent.close()
  })

  it('a worker says so, goes on trying, and serves once it is there', async () => {
    const port = await freePort()
    const worker = start(['worker', './tasks.mjs', '--redis', `redis://127.0.0.1:${port}`])
    await worker.shows(`Redis at redis://127.0.0.1:${port} could not be reached`)
    const late = await startServer({ port })
    await worker.shows('connected to Redis')
    const call = () => run(['call', 'add', '{"a":1}', '--redis', late.url])
    await eventually(async () => (await call()).out === '1\n')
    await late.stop()
    await worker.shows('lost Redis')
    worker.signal('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    // It says that it has started once Redis knows it, and not before.
    const said = ['Trying until it is there', 'connected to Redis', 'worker started', 'worker stopped']
    const places = said.map(text => err.indexOf(text))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(err.split('worker started')).toHaveLength(2)
  })
})
