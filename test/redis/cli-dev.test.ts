import { join } from 'node:path'
import { expect, it } from 'vitest'
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
