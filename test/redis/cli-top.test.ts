import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { expectRestored, leave, openTop } from '../support/top-terminal.ts'

const cli = useCli()

describe('pshub top in a terminal', () => {
  it('redraws in place what happens, pauses, sorts, and leaves the terminal as it was', async () => {
    await cli.worker()
    const terminal = openTop(cli)
    expect(await terminal.shows(/0 calls\/s.*1 live worker$/m)).toMatch(/^pshub top .* on redis:/)
    expect(await terminal.shows(/^echo:1\.2 +default +1 +0 +-/m)).toContain('by load')
    expect(terminal.screen.at(-1)).toMatch(/^q quit, p pause, s sort/)
    await Promise.all([cli.run(['call', 'echo', '1']), cli.run(['call', 'fail'])])
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
  }, 60_000)
})

describe('pshub top elsewhere', () => {
  it('prints one reading and ends: in a pipe, with --once, as JSON', async () => {
    await cli.worker()
    await cli.run(['call', 'echo', '1'])
    await eventually(async () => /^echo:1\.2 +default +1 +\S+ +0%/m.test((await cli.run(['top'])).out))
    const { code, out, err } = await cli.run(['top', '--sort', 'name'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain('\u001b')
    expect(out).toMatch(
      /^\S+ calls\/s, errors 0%, backlog 0, busy 0 of 4 slots, 1 live worker\n\nQUEUE [\s\S]*\n\nTASK [\s\S]*\n\nID /,
    )
    const json = JSON.parse((await cli.run(['top', '--json'])).out)
    expect(Object.keys(json)).toEqual([
      'atMs',
      'tasks',
      'workers',
      'queues',
      'load',
      'unanswered',
      'memory',
      'unreadable',
    ])
    expect(json.tasks.find(({ task }: { task: string }) => task === 'echo:1.2').load.us.exec.count).toBe(1)
    expect(await cli.run(['top', '--sort', 'size'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('load, calls, errors'),
    })
  }, 60_000)
})
