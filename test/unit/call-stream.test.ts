import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sendStream, streamForm } from '../../registry/server/call-stream.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Streams a call whose handler says nothing in these times, and then ends. What was sent after each of them, and at the end. */
const streamed = async (accept: string, timesMs: number[], error?: Error) => {
  const raw = Object.assign(new PassThrough({ encoding: 'utf8' }), { setHeader() {}, writeHead: vi.fn() })
  const reply = {
    raw,
    sent: false,
    getHeaders: () => ({}),
    hijack() {
      this.sent = true
    },
  }
  let end = () => {}
  const next = () =>
    new Promise((resolve, reject) => {
      end = () => (error ? reject(error) : resolve({ done: true, value: 'told' }))
    })
  const form = streamForm({ headers: { accept } } as never)!
  const call = { task: 'a:1.0', args: {}, options: {}, form, reply, problemOf: () => ({ code: 'NoLuck' }) }
  const ended = sendStream({ stream: () => ({ next, id: 'x' }) } as never, call as never).catch(() => undefined)
  const sent: string[] = []
  for (const ms of timesMs) {
    await vi.advanceTimersByTimeAsync(ms)
    sent.push(raw.read() ?? '')
  }
  end()
  await ended
  return { sent: [...sent, raw.read() ?? ''], begun: raw.writeHead.mock.calls.length }
}

describe('a streamed call that says nothing', () => {
  it.each([
    ['text/event-stream', ': \n\n', 'event: result\ndata: {"result":"told","id":"x"}\n\n'],
    ['application/x-ndjson', '\n', '{"result":"told","id":"x"}\n'],
  ])('begins soon as %s, and gives a sign of life from time to time', async (accept, sign, end) => {
    expect((await streamed(accept, [1999, 1, 14_999, 1, 15_000])).sent).toEqual(['', sign, '', sign, sign, end])
  })

  it('fails with nothing sent when that is soon, else with a part', async () => {
    const error = new Error('no luck')
    expect(await streamed('application/x-ndjson', [1999], error)).toEqual({ sent: ['', ''], begun: 0 })
    const late = await streamed('application/x-ndjson', [2000], error)
    expect(late).toEqual({ sent: ['\n', '{"error":{"code":"NoLuck"}}\n'], begun: 1 })
  })
})
