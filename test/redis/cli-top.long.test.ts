import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { main, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const cli = useCli()

const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'

const top = (args: string[] = [], env: Record<string, string> = {}, size: [number, number] = [100, 24]): Terminal =>
  openTerminal(...size, [process.execPath, main, 'top', ...args], {
    PSHUB_REDIS: cli.url,
    PSHUB_NAMESPACE: cli.namespace,
    NO_COLOR: '1',
    ...env,
  })

const expectRestored = ({ output }: Terminal) => {
  expect(output.startsWith(enter)).toBe(true)
  expect(output.endsWith(`${leave}\n[terminal as it was]\n`)).toBe(true)
  expect(output.split(enter)).toHaveLength(2)
  expect(output.split(leave)).toHaveLength(2)
}

describe('pshub top in a terminal', () => {
  it('fits the terminal, and follows its size', async () => {
    await cli.worker()
    const terminal = top([], {}, [140, 30])
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
    const terminal = top([], { PSHUB_REDIS: `redis://localhost?path=${path}` })
    await terminal.shows(/Redis is away: connect ENOENT [^;]*; trying again/)
    const first = await start()
    await terminal.shows(/No worker runs yet/)
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

  it('leaves the terminal as it was when it is told to stop', async () => {
    for (const [signal, code] of [
      [15, 143],
      [2, 0],
    ] as const) {
      const terminal = top()
      await terminal.shows(/No worker runs yet/)
      terminal.signal(signal)
      expect(await terminal.ended).toBe(code)
      expectRestored(terminal)
    }
  })
})
