import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run, start } = cli

describe('while Redis is away', () => {
  it('a worker whose password was changed says so as an error, and comes back when it is right', async () => {
    const password = (text: string) =>
      cli.redis.call('ACL', 'SETUSER', 'server', 'on', 'resetpass', `>${text}`, 'allkeys', '+@all')
    await password('secret')
    const url = cli.url.replace('//', '//server:secret@')
    const worker = start(['worker', './tasks.mjs', '--redis', url])
    await worker.shows('worker started')
    await password('other')
    await cli.redis.call('CLIENT', 'KILL', 'USER', 'server')
    await worker.shows('"msg":"Redis denies access; reconnecting"')
    await worker.shows('"reason":"Redis rejected this user or password; correct them in the URL')
    await password('secret')
    const call = () => run(['call', 'add', '{"a":1}'])
    await eventually(async () => (await call()).out === '1\n', 60_000)
    worker.signal('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    const refused = err.split('\n').filter(line => line.includes('denies access'))
    expect(new Set(refused.map(line => JSON.parse(line).level))).toEqual(new Set([50]))
    expect(err).not.toContain('other')
    await cli.redis.call('ACL', 'DELUSER', 'server')
  })

  it('a worker says so, goes on trying, and serves once it is there', async () => {
    // Nobody else takes a socket of this name meanwhile.
    const path = join(cli.folder, 'late.sock')
    const worker = start(['worker', './tasks.mjs', '--redis', `unix://${path}`])
    await worker.shows('could not be reached: connect ENOENT')
    const late = await startServer({ args: ['--unixsocket', path] })
    await worker.shows('connected to Redis')
    const call = () => run(['call', 'add', '{"a":1}', '--redis', late.url])
    await eventually(async () => (await call()).out === '1\n', 60_000)
    await late.stop()
    await worker.shows('lost the connection to Redis')
    worker.signal('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    // It says that it has started once Redis knows it, and not before.
    const said = ['Reconnecting.', 'connected to Redis', 'worker started', 'worker stopped']
    const places = said.map(text => err.indexOf(text))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(err.split('worker started')).toHaveLength(2)
  })
})
