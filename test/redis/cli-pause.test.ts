import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli
const pausedKey = (queue = 'default') => makeKeys(cli.namespace).queue(queue).paused

describe('pshub pause and resume', () => {
  it('pause a queue and go on, and the lists show it meanwhile', async () => {
    const { events } = await cli.worker()
    const paused = new Promise(resolve => events.on('queue:paused', resolve))
    expect(await run(['pause', 'default'])).toEqual({
      code: 0,
      out: 'default is paused. Running requests finish; the rest waits until: pshub resume default\n',
      err: '',
    })
    await paused
    const since = new Date(Number(await cli.redis.get(pausedKey()))).toISOString()
    expect(await run(['pause', 'default'])).toMatchObject({
      code: 0,
      out: `default was already paused, at ${since}.\n`,
    })
    const queues = await run(['queues'])
    expect(queues.out).toMatch(/^QUEUE {4}STATE {3}BACKLOG {2}.*\ndefault {2}paused {8}0 /)
    expect(queues.err).toBe(
      `default is paused since ${since}; its workers claim nothing. To resume: pshub resume default\n`,
    )
    expect((await run(['workers'])).out).toMatch(/ paused\n$/)
    const top = (await run(['top', '--once'])).out
    expect(top).toMatch(/^default {2}paused {2}/m)
    expect(top).toMatch(/ paused\n$/)
    const waited = await run(['call', 'add:1.0', '{"a":1,"b":2}', '--timeout', '300ms'])
    expect(waited).toMatchObject({ code: 4, err: expect.stringContaining('Timeout: ') })
    expect(await run(['resume', 'default'])).toEqual({ code: 0, out: 'default is resumed.\n', err: '' })
    expect(await run(['call', 'add:1.0', '{"a":1,"b":2}'])).toMatchObject({ code: 0, out: '3\n' })
    expect(await run(['resume', 'default'])).toMatchObject({ code: 0, out: 'default was not paused.\n' })
    expect((await run(['queues'])).out).not.toContain('STATE')
    expect((await run(['workers'])).out).toMatch(/ live\n$/)
  }, 60_000)

  it('say what is wrong, and end with the code for it', async () => {
    await cli.redis.rpush(pausedKey(), 'squat')
    for (const name of ['pause', 'resume']) {
      expect(await run([name, 'default'])).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^Redis rejected: WRONGTYPE/),
      })
      expect(await run([name, 'default', '--redis', 'redis://127.0.0.1:1'])).toMatchObject({
        code: 3,
        err: expect.stringContaining('could not be reached'),
      })
    }
    expect(await cli.redis.lrange(pausedKey(), 0, -1)).toEqual(['squat'])
  })

  it('need no more than the rights of an admin, and no less', async () => {
    const rules = (role: 'admin' | 'view') => rulesOf(role, makeKeys(cli.namespace)).split(' ')
    await cli.redis.call('ACL', 'SETUSER', 'admin', 'reset', 'on', '>secret', ...rules('admin'))
    const env = { PSHUB_REDIS: cli.url.replace('//', '//admin:secret@') }
    for (const args of [['pause', 'q'], ['queues'], ['resume', 'q'], ['check', '--for', 'admin']])
      expect(await run(args, { env }), args.join(' ')).toMatchObject({ code: 0 })
    await cli.redis.call('ACL', 'SETUSER', 'admin', 'reset', 'on', '>secret', ...rules('view'))
    for (const name of ['pause', 'resume'])
      expect(await run([name, 'q'], { env })).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^Redis rejected: the Redis user lacks a right; 'pshub check' names it/),
      })
    const check = await run(['check', '--for', 'admin'], { env })
    expect(check.code).toBe(1)
    expect(check.out).toMatch(
      /^error +admin rights .* it lacks HDEL on .*:tasks, GETEX SET on .*:paused, .* To grant it: ACL SETUSER admin /m,
    )
    await cli.redis.call('ACL', 'DELUSER', 'admin')
  })
})
