import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort, startServer } from '../../tools/redis-server.mjs'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const cli = useCli()

const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'

const top = (args: string[] = [], env: Record<string, string> = {}, size: [number, number] = [100, 24]): Terminal =>
  openTerminal(...size, [process.execPath, join(root, 'dist/cli/main.js'), 'top', ...args], {
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
  it('redraws in place what happens, pauses, sorts, and leaves the terminal as it was', async () => {
    const worker = await cli.startWorker()
    const terminal = top()
    expect(await terminal.shows(/0 calls\/s.*1 live worker$/m)).toMatch(/^pshub top .* on redis:/)
    expect(await terminal.shows(/^echo:1\.2 +default +1 +0 +-/m)).toContain('by load')
    expect(terminal.screen.at(-1)).toMatch(/^q quit, p pause, s sort/)
    await Promise.all([cli.run(['call', 'echo', '1']), cli.run(['call', 'fail']).catch(() => undefined)])
    await terminal.shows(/^fail:1\.0 +default +1 +(<0\.1|\d\S*) +100%/m)
    const { frames } = terminal
    await eventually(() => terminal.frames > frames + 2)

    terminal.type('p')
    const paused = await terminal.shows(/^paused$/m)
    const clock = (text: string) => /\d\d:\d\d:\d\d/.exec(text)![0]
    const pausedFrames = terminal.frames
    await eventually(() => terminal.frames > pausedFrames + 1)
    expect(clock(terminal.screen.join('\n'))).toBe(clock(paused))
    terminal.type('P')
    await terminal.shows(/calls\/s,/)

    for (const sort of ['calls', 'errors', 'waits', 'name', 'load']) {
      terminal.type('s')
      await terminal.shows(new RegExp(`by ${sort}\\)`))
    }
    terminal.type('\u001b[A')
    terminal.type('q')
    expect(await terminal.ended).toBe(0)
    expectRestored(terminal)
    // Nothing scrolls: no line ends without the next one in its place.
    expect(terminal.output.split(leave)[0]!.replaceAll(/\r+\n/g, '')).not.toContain('\n')
    worker.signal('SIGTERM')
    await worker.ended
  }, 60_000)

  it('fits the terminal, and follows its size', async () => {
    const worker = await cli.startWorker()
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
    worker.signal('SIGTERM')
    await worker.ended
  }, 60_000)

  it('says that Redis went away and how old its figures are, and goes on when it is back', async () => {
    const port = await freePort()
    const PSHUB_REDIS = `redis://127.0.0.1:${port}`
    const terminal = top([], { PSHUB_REDIS })
    await terminal.shows(/Redis is away: connect ECONNREFUSED [^;]*; trying again/)
    const first = await startServer({ port })
    await terminal.shows(/No worker runs yet/)
    await first.stop()
    const age = async () =>
      Number(/figures are (\d+(?:\.\d)?)s old/.exec(await terminal.shows(/figures are [\d.]+s old/))![1])
    const young = await age()
    await eventually(async () => (await age()) > young + 1)
    const second = await startServer({ port })
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

describe('pshub top elsewhere', () => {
  it('prints one reading and ends: in a pipe, with --once, as JSON', async () => {
    const worker = await cli.startWorker()
    await cli.run(['call', 'echo', '1'])
    await eventually(async () => /^echo:1\.2 +default +1 +\S+ +0%/m.test((await cli.run(['top'])).out))
    const { code, out, err } = await cli.run(['top', '--sort', 'name'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain('\u001b')
    expect(out).toMatch(
      /^\S+ calls\/s, errors 0%, backlog 0, busy 0 of 4 slots, 1 live worker\n\nQUEUE [\s\S]*\n\nTASK [\s\S]*\n\nID /,
    )
    const once = top(['--once'])
    expect(await once.ended).toBe(0)
    expect(once.output).not.toContain('\u001b')
    const json = JSON.parse((await cli.run(['top', '--json'])).out)
    expect(Object.keys(json)).toEqual([
      'atMs',
      'tasks',
      'workers',
      'queues',
      'load',
      'refusals',
      'memory',
      'unreadable',
    ])
    expect(json.tasks.find(({ task }: { task: string }) => task === 'echo:1.2').load.us.exec.count).toBe(1)
    expect(await cli.run(['top', '--sort', 'size'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('load, calls, errors'),
    })
    worker.signal('SIGTERM')
    await worker.ended
  }, 60_000)
})
