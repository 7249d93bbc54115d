import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli

const nowhere = 'redis://127.0.0.1:1'

describe('while Redis is away', () => {
  it('every command says so in one sentence, and ends with 3', async () => {
    const redisUrl = nowhere.replace('//', '//user:pa@ss@')
    const sentence = `Redis at ${nowhere} could not be reached: connect ECONNREFUSED 127.0.0.1:1; set --redis or PSHUB_REDIS.\n`
    for (const args of [
      ['tasks'],
      ['slow'],
      ['top'],
      ['check'],
      ['call', 'add'],
      ['enqueue', 't', '--queue', 'q'],
      ['jobs'],
      ['dead'],
    ]) {
      expect(await run([...args, '--redis', redisUrl]), args[0]).toEqual({ code: 3, out: '', err: sentence })
    }
    const json = await run(['check', '--redis', nowhere, '--json'])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
  })

  it('a missing or wrong password is told as what it is', async () => {
    const locked = await startServer({ args: ['--requirepass', 'secret'] })
    onTestFinished(() => locked.stop())
    const check = (url: string) => run(['check', '--redis', url])
    expect((await check(locked.url)).err).toMatch(
      /denies access: Redis requires a password; put it into the URL, .*\(NOAUTH [^;]*[^.]\); set --redis/,
    )
    const wrong = await check(locked.url.replace('//', '//:guess@'))
    expect(wrong.code).toBe(3)
    expect(wrong.err).toMatch(/denies access: Redis rejected .*\(WRONGPASS [^;]*[^.]\); set --redis/)
    expect(wrong.err).not.toContain('guess')
    const right = await check(locked.url.replace('//', '//:secret@'))
    expect(right.code).toBe(0)
    expect(right.out).not.toContain('secret')
  })

  it('a spoilt registry is told as what Redis says of it', async () => {
    await cli.redis.set(`${cli.namespace}:tasks`, 'not a hash')
    const { code, err } = await run(['tasks'])
    expect(code).toBe(1)
    expect(err).toMatch(/^Warning: \S+:tasks cannot be read and is ignored: .*WRONGTYPE/)
  })

  it('a server that accepts and never answers is not waited for', async () => {
    const silent = createServer(socket => socket.on('error', () => undefined))
    await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
    const { port } = silent.address() as { port: number }
    for (const [args, reason] of [
      [['tasks'], 'no answer within 1800 ms'],
      [['call', 'add'], 'no answer in time'],
    ] as const) {
      const { code, err } = await run([...args, '--redis', `redis://127.0.0.1:${port}`])
      expect(code).toBe(3)
      expect(err).toBe(
        `Redis at redis://127.0.0.1:${port} could not be reached: ${reason}; set --redis or PSHUB_REDIS.\n`,
      )
    }
    silent.close()
  })
})
