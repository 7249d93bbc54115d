import { describe, expect, it, onTestFinished } from 'vitest'
import { Hub } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'
import { failure } from '../support/hub-fixture.ts'
import { read } from '../support/protocol-document.ts'

const cli = useCli()

/** Each with what it needs to come to Redis. */
const commands = [
  ...[
    'tasks',
    'workers',
    'queues',
    'jobs',
    'dead',
    'slow',
    'failures',
    'top',
    'schedules',
    'metrics',
    'check',
    'doctor',
  ],
  ...[
    'install',
    'registry',
    'call add',
    'enqueue add',
    'job abc',
    'inspect abc',
    'key q k',
    'pause q',
    'resume q',
    'trace abc',
  ],
  ...['forget add:1.0', 'shards q', 'bench add:1.0', 'types', 'forward f --to http://h'],
].map(text => text.split(' '))

const locked = async (password: string) => {
  const server = await startServer({ args: ['--requirepass', password] })
  onTestFinished(() => server.stop())
  return server.url
}

describe('a password in a Redis URL', () => {
  it('may stand there as it is', async () => {
    const password = '57#W%c/?@+ ä[]b'
    const url = (await locked(password)).replace('//', `//:${password}@`)
    expect(await cli.run(['tasks', '--redis', url])).toMatchObject({ code: 0 })
  })

  it('that ends with a line break is told as such, where Redis does not know it', async () => {
    const url = await locked('secret')
    const { err } = await cli.run(['check', '--redis', url.replace('//', '//:secret%0A@')])
    expect(err).toContain('(WRONGPASS the password that was given begins or ends with white space: invalid')
    expect(err).not.toMatch(/secret/)
    const hub = new Hub({ redis: { port: Number(new URL(url).port), password: 'secret ' }, logLevel: 'silent' })
    onTestFinished(() => hub.close())
    expect(await failure(hub.call('a:1.0', {}))).toMatchObject({ message: expect.stringMatching(/white space/) })
  })

  it('is in no word of any command, whatever else is wrong with the URL', async () => {
    const { refused } = JSON.parse(read('clients/vectors/addresses.json'))
    const urls = refused
      .map(({ url }: { url: string }) => url)
      .filter((url: string) => /mar|ker/.test(url) && !url.includes('\0'))
    for (const url of urls) {
      const ended = await cli.run(['check'], { env: { PSHUB_REDIS: url } })
      // White space around it is trimmed, and then it is right.
      if (url.trim() === url) expect(ended.err, url).toMatch(/^PSHUB_REDIS (must|has) /)
      expect(ended.out + ended.err, url).not.toMatch(/mar|ker/)
    }
    for (const args of commands) {
      const { code, out, err } = await cli.run([...args, '--redis', 'redis://:57#mar/?ker@h:x'])
      expect([code, err.split('\n')[0]], args.join(' ')).toEqual([
        2,
        expect.stringMatching(/^--redis must name each host/),
      ])
      expect(out + err).not.toMatch(/mar|ker|57/)
    }
  })
})
