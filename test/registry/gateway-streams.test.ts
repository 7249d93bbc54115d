import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'
import { type TestRegistry, useRegistry } from '../support/registry-fixture.ts'
import { waiting } from '../support/tool-client.ts'

const fixture = useRegistry()

const chat = defineTask('chat:1.0', {}, async function* (_, ctx) {
  ctx.progress({ done: 1, total: 2 })
  yield 'Hel'
  yield { text: 'lo\n' }
  return 'told'
})
const fails = defineTask('fails:1.0', {}, async function* (late) {
  if (late === true) yield 1
  throw new TaskError('no luck', { code: 'NoLuck', status: 404 })
})

const call = (registry: TestRegistry, task: string, accept: string, body: unknown = {}) =>
  registry.post(`api/call/${task}`, body, { role: 'run', headers: { accept } })

describe('POST /api/call/<task> that asks for what comes', () => {
  it('writes each part as a line of JSON', async () => {
    await fixture.worker([chat, fails])
    const registry = await fixture.registry()
    const response = await call(registry, 'chat:1.0', 'application/x-ndjson')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    const parts = (await response.text())
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(parts).toEqual([
      { progress: { done: 1, total: 2 } },
      { chunk: 'Hel' },
      { chunk: { text: 'lo\n' } },
      { result: 'told', id: expect.any(String), phases: expect.objectContaining({ total: expect.any(Number) }) },
    ])
  })

  it('writes them as server-sent events', async () => {
    await fixture.worker([chat, fails])
    const registry = await fixture.registry()
    const response = await call(registry, 'chat:1.0', 'text/event-stream')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform')
    const events = (await response.text())
      .trim()
      .split('\n\n')
      .map(each => each.split('\n'))
    expect(events.map(([name]) => name)).toEqual(['event: progress', 'event: chunk', 'event: chunk', 'event: result'])
    expect(events.map(([, data]) => JSON.parse(data!.slice('data: '.length)))).toEqual([
      { done: 1, total: 2 },
      'Hel',
      { text: 'lo\n' },
      expect.objectContaining({ result: 'told' }),
    ])
  })

  it('answers as ever what fails before anything came, and ends with the failure what fails behind that', async () => {
    await fixture.worker([chat, fails])
    const registry = await fixture.registry()
    const early = await call(registry, 'fails:1.0', 'application/x-ndjson')
    expect([early.status, await early.json()]).toEqual([404, expect.objectContaining({ code: 'NoLuck' })])
    const unknown = await call(registry, 'nothing:1.0', 'text/event-stream')
    expect([unknown.status, await unknown.json()]).toEqual([404, expect.objectContaining({ code: 'NoSuchTask' })])
    const late = await call(registry, 'fails:1.0', 'application/x-ndjson', true)
    expect(late.status).toBe(200)
    expect(
      (await late.text())
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual([{ chunk: 1 }, { error: expect.objectContaining({ code: 'NoLuck', detail: 'no luck', ran: 'yes' }) }])
  })

  it.each(['application/json', 'application/x-ndjson'])('tells whoever waits that it stops (%s)', async accept => {
    fixture.allowLeftovers()
    const { task, seen } = waiting()
    await fixture.worker([task])
    const registry = await fixture.registry()
    const response = call(registry, 'wait:1.0', accept)
    await eventually(() => seen.includes('begun'))
    await registry.close()
    expect(await (await response).json()).toMatchObject({
      code: 'OutcomeUnknown',
      detail: 'The registry stopped while this was running.',
      ran: 'maybe',
    })
    await eventually(() => seen.includes('aborted'))
  })

  it('has the task stop when the client goes', async () => {
    fixture.allowLeftovers()
    let wasStopped = false
    const endless = defineTask('endless:1.0', { timeoutMs: 30_000 }, async function* (_, ctx) {
      ctx.signal.addEventListener('abort', () => {
        wasStopped = true
      })
      for (let n = 0; !ctx.signal.aborted; n++) {
        yield n
        await delay(20, 'a handler that yields now and then')
      }
    })
    await fixture.worker([endless])
    const registry = await fixture.registry()
    const response = await call(registry, 'endless:1.0', 'application/x-ndjson')
    const reader = response.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('{"chunk":0}')
    await reader.cancel()
    await eventually(() => wasStopped)
  })
})
