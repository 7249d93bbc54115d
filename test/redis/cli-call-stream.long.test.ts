import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importPshub, useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()

const tasks = `${importPshub}import { appendFileSync } from 'node:fs'
export const endless = defineTask('endless:1.0', { timeoutMs: 120_000 }, async function* ({ yielded }, ctx) {
  try {
    for (;;) {
      appendFileSync(yielded, '.')
      yield 'x'.repeat(1000)
    }
  } finally {
    ctx.log.warn('endless has ended')
  }
})
`
const startWorker = async () => {
  const worker = cli.start(['worker', cli.module('streams.mjs', tasks)])
  await worker.shows('worker started')
  return worker
}
const stream = (task: string, args: object = {}, ...flags: string[]) =>
  cli.start(['call', task, JSON.stringify(args), '--stream', ...flags])

describe('pshub call --stream', () => {
  it('has the task wait while it is read slowly, for longer than a caller may be silent', async () => {
    const worker = await startWorker()
    const yielded = join(cli.folder, 'slow')
    const call = stream('endless:1.0', { yielded })
    await call.shows('xxx')
    call.child.stdout.pause()
    const count = () => statSync(yielded).size
    await delay(12_000, 'A caller may be silent for ten seconds.')
    expect(count()).toBeLessThan(1000)
    call.child.stdout.resume()
    await eventually(() => count() > 3000, 60_000)
    call.signal('SIGINT')
    expect((await call.ended).code).toBe(130)
    await worker.shows('endless has ended')
  })
})
