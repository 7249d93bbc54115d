import { describe, expect, it } from 'vitest'
import { root, useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()

/** Runs pshub as a shell does that npm has started: a signal for it does not reach what it runs. */
const shell = () =>
  cli.module(
    'shell.mjs',
    `import { spawn } from 'node:child_process'
    const child = spawn(process.execPath, ['${root}/dist/cli/main.js', ...process.argv.slice(2)], { stdio: 'inherit', detached: !!process.env.DETACHED })
    console.log('pid ' + child.pid)`,
  )

const isThere = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a worker whose shell is gone', () => {
  const orphan = async (env: Record<string, string>) => {
    const parent = cli.start(['worker', './tasks.mjs'], env, shell())
    let pid = 0
    parent.child.stdout.on('data', chunk => (pid ||= Number(/pid (\d+)/.exec(String(chunk))?.[1] ?? 0)))
    await parent.shows('worker started')
    parent.signal('SIGTERM')
    return { parent, pid }
  }

  it('ends as if it was told to, where npm or one like it ran the shell', async () => {
    for (const env of [{ npm_command: 'exec' }, { npm_execpath: '/anywhere' }]) {
      const { parent } = await orphan(env)
      // Once nobody holds its stderr any more.
      expect((await parent.ended).err).toMatch(/"msg":"stopping, because the npm script that started it has ended/)
    }
  })

  it.each([
    ['elsewhere: it may be meant to outlive its terminal', {}],
    ['in a session of its own, as setsid gives it one', { npm_command: 'exec', DETACHED: '1' }],
  ])('goes on %s', async (_, env) => {
    const { parent, pid } = await orphan(env)
    await eventually(() => parent.child.exitCode !== null || parent.child.signalCode !== null, 60_000)
    // Longer than it takes to notice.
    await delay(1200, 'It looks for its parent each 500 ms, and leaves no other trace of it.')
    expect(isThere(pid)).toBe(true)
    process.kill(pid, 'SIGTERM')
    await parent.ended
  })
})
