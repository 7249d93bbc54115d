import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { main, useCli } from '../support/cli-fixture.ts'
import { declared, keysOf } from '../support/cli-jobs.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()

it('pshub enqueue --file shows a person how far it is, and stops at Ctrl-C between two portions', async () => {
  await declared(cli)
  const write = (name: string, count: number) => {
    const path = join(cli.folder, name)
    writeFileSync(path, Array.from({ length: count }, (_, n) => `{"a":${n}}`).join('\n'))
    return path
  }
  const env = { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace, NO_COLOR: '1' }
  const taken = '\r\u001b[K'
  const enqueue = (path: string) => {
    return openTerminal(100, 24, [process.execPath, main, 'enqueue', 'add', '--file', path], env)
  }
  const whole = enqueue(write('few.jsonl', 20_000))
  expect(await whole.ended).toBe(0)
  const [bars, told] = whole.output.split(taken)
  expect(bars).toMatch(/^\r\[#*\.+\] +\d+% +\d+ of 20000/)
  expect(told).toMatch(/^20000 jobs are enqueued\.\r/)
  const broken = enqueue(write('many.jsonl', 200_000))
  await eventually(() => / of 200000/.test(broken.output), 60_000)
  broken.type('\u0003')
  expect(await broken.ended).toBe(130)
  const [, sent] = /^Aborted: (\d+) of 200000 jobs were enqueued, those of the first lines\./.exec(
    broken.output.split(taken)[1]!,
  )!
  expect(Number(sent) % 10_000).toBe(0)
  expect(await cli.redis.llen(keysOf(cli).jobs)).toBe(20_000 + Number(sent))
}, 60_000)
