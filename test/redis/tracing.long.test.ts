import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { idOf, inside, spanOf, traceOf, useSpans } from '../support/spans.ts'

const it_ = useRedis()
useSpans()

interface Line {
  name: string
  kind: SpanKind
  traceId: string
  spanId: string
  parent: string
}

describe('two processes', () => {
  const startOther = async () => {
    const args = [join(root, 'test/support/traced-worker.mjs'), it_.url, it_.namespace]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = new Promise(resolve => child.once('exit', resolve))
    it_.onEnd(() => {
      child.stdin.end()
      return ended
    })
    let text = ''
    child.stdout.on('data', chunk => (text += chunk))
    const lines = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line))
    await eventually(() => lines().length > 0, 30_000)
    return (count: number) =>
      eventually(() => lines().length === count + 1 && (lines().slice(1) as Line[]), 30_000) as Promise<Line[]>
  }

  it('are one trace', async () => {
    const lines = await startOther()
    await inside('page', () => it_.hub().call('outer:1.0'), ROOT_CONTEXT)
    const [inRun, inCall, outRun] = await lines(3)
    const call = await spanOf('outer:1.0', SpanKind.CLIENT)
    const expected = (name: string, kind: SpanKind, parent: string) =>
      expect.objectContaining({ name, kind, parent, traceId: traceOf(call) })
    expect(outRun).toEqual(expected('outer:1.0', SpanKind.SERVER, idOf(call)))
    expect(inCall).toEqual(expected('inner:1.0', SpanKind.CLIENT, outRun!.spanId))
    expect(inRun).toEqual(expected('inner:1.0', SpanKind.SERVER, inCall!.spanId))
  })
})
