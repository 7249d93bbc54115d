import { describe, expect, it } from 'vitest'
import { importPshub, main, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()

const tasks = `${importPshub}export const steps = defineTask('steps:1.0', { timeoutMs: 20_000 }, async (_, ctx) => {
  ctx.progress({ done: 5, total: 10, message: 'page\\u001b[31m 5' })
  await new Promise(resolve => setTimeout(resolve, 2500))
  return 'ready'
})
`
const half = '[###############...............]  50%   5 of 10  page'

describe('progress on the command line', () => {
  it('of a job is shown by pshub job, and on a terminal while somebody waits for it', async () => {
    const worker = cli.start(['worker', `./${cli.module('steps.mjs', tasks)}`])
    await worker.shows('worker started')
    const { out } = await cli.run(['enqueue', 'steps:1.0', '--tracked'])
    const id = out.trim()
    const shown = async () => (await cli.run(['job', id])).out
    expect(await eventually(async () => /progress +(.*)/.exec(await shown())?.[1], 60_000)).toBe(`${half}\\u001b[31m 5`)
    const program = [process.execPath, main]
    const env = { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace }
    for (const words of [
      ['enqueue', 'steps:1.0', '--wait'],
      ['call', 'steps:1.0'],
    ]) {
      const terminal = openTerminal(120, 20, [...program, ...words], env)
      expect(await terminal.ended).toBe(0)
      expect(terminal.output).toContain(half)
      expect(terminal.output.split('\u001b[K').at(-1)).toContain('"ready"')
    }
  })
})
