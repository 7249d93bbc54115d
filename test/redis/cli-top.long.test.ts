import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { expectRestored, openTop } from '../support/top-terminal.ts'

const cli = useCli()

describe('pshub top in a terminal', () => {
  it('fits the terminal, and follows its size', async () => {
    await cli.worker()
    const terminal = openTop(cli, {}, [140, 30])
    await terminal.shows(/^ID .* STATE$/m)
    expect(terminal.screen.join('\n')).toMatch(/^TASK .* QUEUE WAIT ms +EXEC ms$/m)
    terminal.resize(66, 12)
    await terminal.shows(/^TASK +WORKERS +CALLS\/S +ERRORS +BACKLOG ms +EXEC ms$/m)
    expect(terminal.screen).toHaveLength(12)
    expect(Math.max(...terminal.screen.map(line => line.length))).toBeLessThanOrEqual(66)
    expect(terminal.screen.join('\n')).toMatch(/\n\d more\n/)
    terminal.type('\u0003')
    expect(await terminal.ended).toBe(0)
    expectRestored(terminal)
  }, 60_000)

  it('says that Redis went away and how old its figures are, and goes on when it is back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pshub-top-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // Nobody else takes a socket of this name between two servers.
    const path = join(folder, 'redis.sock')
    const start = () => startServer({ args: ['--unixsocket', path] })
    const terminal = openTop(cli, { PSHUB_REDIS: `unix://${path}` })
    await terminal.shows(/Redis is unreachable: connect ENOENT [^;]*; reconnecting/)
    const first = await start()
    await terminal.shows(/No worker is running/)
    await first.stop()
    const age = async () =>
      Number(/figures are (\d+(?:\.\d)?)s old/.exec(await terminal.shows(/figures are [\d.]+s old/))![1])
    const young = await age()
    await eventually(async () => (await age()) > young + 1)
    const second = await start()
    onTestFinished(() => second.stop())
    await terminal.shows(/0 calls\/s/)
    terminal.type('q')
    expect(await terminal.ended).toBe(0)
    expectRestored(terminal)
  })

  it('leaves the terminal as it was when a signal ends it', async () => {
    const terminal = openTop(cli)
    await terminal.shows(/No worker is running/)
    terminal.signal(15)
    expect(await terminal.ended).toBe(143)
    expectRestored(terminal)
  })
})
