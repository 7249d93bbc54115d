import { describe, expect, it } from 'vitest'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run } = cli
const keys = (queue = 'later') => makeKeys(cli.namespace).queue(queue)
const add = (...rest: string[]) => run(['schedules', 'add', ...rest, '--queue', 'later'])

describe('pshub schedules', () => {
  it('adds, shows, pauses, resumes, runs and removes', async () => {
    expect(await run(['schedules'])).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('There is no schedule'),
    })
    const nightly = ['nightly', '0 3 * * *', 'report:1.0', '{"month":11}', '--timezone', 'Europe/Berlin']
    expect(await add(...nightly)).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^nightly enqueues report:1\.0 in queue later; next run \d{4}-\S+T0[12]:00:00\.000Z\.\n$/,
      ),
    })
    const shown = await run(['schedules', '--queue', 'later'])
    expect(shown.out).toMatch(/NAME .*NEXT\nnightly +.*report:1\.0 +0 3 \* \* \* +.*in \d/)
    expect(await run(['schedules', 'pause', 'nightly', '--queue', 'later'])).toMatchObject({
      out: 'nightly is paused.\n',
    })
    expect((await run(['schedules', '--queue', 'later'])).out).toContain('paused')
    expect((await add(...nightly)).out).toContain('it is paused')
    expect(await run(['schedules', 'resume', 'nightly', '--queue', 'later'])).toMatchObject({
      out: 'nightly is resumed.\n',
    })
    const now = await run(['schedules', 'run', 'nightly', '--queue', 'later'])
    expect(now.out).toMatch(/^nightly is enqueued as job [\w-]{22}\.\n$/)
    const [text] = await cli.redis.lrange(keys().jobs, 0, -1)
    expect(JSON.parse(text!)).toMatchObject({ task: 'report:1.0', args: { month: 11 } })
    const json = await run(['schedules', '--queue', 'later', '--json'])
    expect(JSON.parse(json.out)).toMatchObject([{ name: 'nightly', timezone: 'Europe/Berlin', args: { month: 11 } }])
    expect(await run(['schedules', 'remove', 'nightly', '--queue', 'later'])).toMatchObject({
      out: 'nightly is removed.\n',
    })
    expect(await cli.redis.exists(keys().cron, keys().ticks)).toBe(0)
    await cli.redis.del(keys().jobs, keys().jobBell)
  })

  it('says what is wrong', async () => {
    await add('nightly', '0 3 * * *', 'report:1.0', '--skip')
    const usage: [string[], RegExp][] = [
      [['lst'], /not 'lst'\. Did you mean list\?/],
      [['list', '--skip'], /belong to: pshub schedules add/],
    ]
    for (const [args, message] of usage)
      expect(await run(['schedules', ...args]), args.join(' ')).toMatchObject({
        code: 2,
        err: expect.stringMatching(message),
      })
    expect(await run(['schedules', 'pause', 'nihgtly', '--queue', 'later'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Did you mean nightly?'),
    })
    expect(await add('x', 'each day', 'report:1.0')).toMatchObject({
      code: 3,
      err: expect.stringContaining("cron 'each day'"),
    })
    expect(await run(['schedules', 'add', 'x', '* * * * *', 'nobody:1.0'])).toMatchObject({ code: 3 })
    await run(['schedules', 'remove', 'nightly', '--queue', 'later'])
  })
})
