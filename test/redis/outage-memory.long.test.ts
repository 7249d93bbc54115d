import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it('an outage costs the memory of the calls that wait, not of all that were made in it', async () => {
  // What the hub pushed last is not taken back in an outage.
  it_.allowLeftovers()
  ensureBuild()
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  await it_.worker([defineTask('a:1.0', {}, () => null)])
  const script = join(root, 'test/support/outage-memory.mjs')
  const child = spawn(process.execPath, ['--expose-gc', script, proxy.url, it_.namespace], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  it_.onEnd(() => child.kill('SIGKILL'))
  let lines: string[] = []
  let text = ''
  child.stdout.on('data', data => {
    text += data
    lines = text.split('\n').slice(0, -1)
  })
  await eventually(() => lines.length === 1, 30_000)
  proxy.refuse = true
  proxy.cut()
  child.stdin.write('cut\n')
  await eventually(() => lines.length === 2, 60_000)
  const { codes, bytes } = JSON.parse(lines[1]!) as { codes: string[]; bytes: number }
  // In the first moment the hub has not heard of the cut yet.
  expect(codes.filter(code => code !== 'OutcomeUnknown')).toEqual(['NotEnqueued'])
  // A push that is in doubt is kept, of 1 MB at the most, until it is known what became of it; 60 MB were called.
  expect(bytes).toBeLessThan(15_000_000)
}, 120_000)
