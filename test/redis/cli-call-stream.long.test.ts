import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importPshub, main, useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()

const tasks = `${importPshub}import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
const timeoutMs = 30_000
export const endless = defineTask('endless:1.0', { timeoutMs: 120_000 }, async function* ({ yielded, pauseMs = 0 }, ctx) {
  try {
    for (;;) {
      appendFileSync(yielded, '.')
      yield 'x'.repeat(1000)
      if (pauseMs) await delay(pauseMs)
    }
  } finally {
    ctx.log.warn('endless has ended')
  }
})
export const steps = defineTask('steps:1.0', { timeoutMs }, async function* () {
  for (let done = 1; done <= 2; done++) {
    arguments[1].progress({ done, total: 2 })
    await delay(500)
    yield { done }
    await delay(500)
  }
  return 'ready'
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

  it('has the bar below the chunks on a terminal, and takes it away', async () => {
    await startWorker()
    const program = [process.execPath, main, 'call', 'steps:1.0', '--stream']
    const terminal = openTerminal(120, 20, program, { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace })
    expect(await terminal.ended).toBe(0)
    const clear = '\r\u001b[K'
    const bar = '[###############...............]  50%  1 of 2\u001b[K'
    expect(terminal.output).toContain(`\r${bar}${clear}{"done":1}\r\n\r${bar}`)
    const [last, ...rest] = terminal.output.split(`${clear}{"done":2}\r\n`).reverse()
    expect(rest).toHaveLength(1)
    expect(last).toContain(`${clear}`)
    expect(last!.split(clear).at(-1)).toContain('"ready"')
  })
})
