import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { processesIn, startDev, taskFile } from '../support/dev-process.ts'

it('reloads when an import changes: what runs finishes with the old code, the next call has the new, and none fails', async () => {
  const dev = startDev({
    'tasks.mjs': taskFile(
      `async ({ gate }) => { while (gate && !existsSync(gate)) await new Promise(resolve => setTimeout(resolve, 10)); return word }`,
      "import { existsSync } from 'node:fs'\nimport { word } from './word.mjs'",
    ),
    'word.mjs': "export const word = 'old'\n",
  })
  await dev.shows('Serving:')
  const hub = dev.hub()
  const answers: unknown[] = []
  const failures: unknown[] = []
  let isOver = false
  const calling = (async () => {
    while (!isOver)
      await hub.call('say:1.0', {}).then(
        answer => answers.push(answer),
        error => failures.push(error),
      )
  })()
  let hasEnded = false
  const gate = join(dev.folder, 'gate')
  const long = hub.call('say:1.0', { gate }).finally(() => (hasEnded = true))
  await expect.poll(() => answers.length).toBeGreaterThan(0)
  dev.write('word.mjs', "export const word = 'new'\n")
  await dev.shows('Reloaded')
  expect(hasEnded).toBe(false)
  expect(await hub.call('say:1.0', {})).toBe('new')
  dev.write('gate', '')
  expect(await long).toBe('old')
  isOver = true
  await calling
  expect(failures).toEqual([])
  expect([...new Set(answers)]).toEqual(['old', 'new'])
})

it('ends all of it by Ctrl-C: what runs finishes', async () => {
  const dev = startDev({
    'tasks.mjs': taskFile(
      "async () => { console.log('begun'); await new Promise(r => setTimeout(r, 500)); console.log('done with it') }",
    ),
  })
  await dev.shows('Serving:')
  expect(processesIn(dev.folder, dev.redis()).length).toBe(4)
  void dev
    .hub()
    .call('say:1.0', {})
    .catch(() => undefined)
  await dev.shows('begun')
  dev.child.kill('SIGINT')
  expect(await dev.ended).toBe(0)
  expect(dev.said()).toContain('done with it')
  expect(processesIn(dev.folder, dev.redis())).toEqual([])
})

it('has a Redis and a namespace of its own, which other commands of its folder find until it ends', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile("() => 'hello'") })
  await dev.shows('Serving:')
  const { PSHUB_REDIS: _, PSHUB_NAMESPACE: __, ...env } = process.env
  const pshub = async (args: string[], cwd: string, more: NodeJS.ProcessEnv = {}) => {
    const line = [join(root, 'dist/cli/main.js'), ...args]
    return (await promisify(execFile)(process.execPath, line, { cwd, env: { ...env, ...more } })).stdout
  }
  expect(dev.redis()).not.toMatch(/:6379$/)
  expect(await pshub(['call', 'say:1.0'], dev.folder)).toBe('"hello"\n')
  // A stranger of the same Redis, with defaults.
  const stranger = { PSHUB_NAMESPACE: 'pshub' }
  await expect(pshub(['call', 'say:1.0'], dev.folder, stranger)).rejects.toMatchObject({
    stderr: /NoSuchTask|No worker/,
  })
  await expect(pshub(['tasks', '--redis', 'redis://127.0.0.1:1'], dev.folder)).rejects.toThrow(/127\.0\.0\.1:1 /)
  const file = join(dev.folder, '.pshub-dev.json')
  dev.child.kill('SIGTERM')
  expect(await dev.ended).toBe(0)
  expect(existsSync(file)).toBe(false)
  // Of one that was killed it would be left behind.
  writeFileSync(file, JSON.stringify({ port: 1, namespace: 'pshub-dev', pid: dev.child.pid }))
  await expect(pshub(['tasks', '--config', file], dev.folder)).rejects.toThrow(/no setting/)
  await expect(pshub(['tasks'], dev.folder, { PSHUB_REDIS: 'redis://127.0.0.1:2' })).rejects.toThrow(/127\.0\.0\.1:2 /)
})

it('shows what a handler throws on lines of its own, also where its log is read by a program', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile("() => { throw new Error('not today') }") })
  await dev.shows('Serving:')
  await expect(dev.hub().call('say:1.0', {})).rejects.toThrow('not today')
  await dev.shows(/ WARN: task failed task=say:1\.0 .*\n {4}Error: not today\n {8}at .*\/tasks\.mjs:\d+:\d+/)
})
