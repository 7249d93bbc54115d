import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LiveReading, TaskRow } from '../../registry/contract.ts'
import { LiveStream } from '../../registry/server/live.ts'
import { defineTask } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { jsonOf, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const one = defineTask('one:1.0', { description: 'The first.' }, () => 1)
const two = defineTask('two:1.0', {}, () => 2)

interface Event {
  name: string
  data: LiveReading & { message?: string }
}

/** The stream's events as they come. */
async function* eventsOf(response: Response): AsyncGenerator<Event> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(text.slice(0, end))
      text = text.slice(end + 2)
      if (match) yield { name: match[1]!, data: JSON.parse(match[2]!) }
    }
  }
}

const headers = { authorization: `Bearer ${tokens.view}` }

describe('GET /api/live', () => {
  it('tells of all at first, and then of what has changed', async () => {
    await fixture.worker([one])
    const registry = await fixture.registry()
    const response = await fetch(registry.at('api/live?topics=tasks,summary'), { headers })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    const events = eventsOf(response)
    const rows = new Map<string, TaskRow>()
    let isFirst = true
    for await (const { name, data } of events) {
      expect([name, data.workers, data.tasks!.full]).toEqual(['reading', undefined, isFirst])
      for (const row of data.tasks!.rows) rows.set(row.task, row)
      for (const task of data.tasks!.gone) rows.delete(task)
      if (isFirst) await fixture.worker([two], { queue: 'other' })
      isFirst = false
      if (rows.get('two:1.0')?.workers === 1) break
    }
    expect(rows.get('one:1.0')).toMatchObject({
      name: 'one',
      version: '1.0',
      summary: 'The first.',
      workers: 1,
      hosts: 1,
    })
  })

  it('says that Redis is away, and goes on when it is back', async () => {
    // At a socket of its own: nobody else can come to be there before it.
    const dir = mkdtempSync(join(tmpdir(), 'pshub-live-'))
    fixture.onEnd(() => rmSync(dir, { recursive: true }))
    const path = join(dir, 'redis')
    const registry = await fixture.registry({ hub: { redis: { path }, logLevel: 'silent' } })
    const response = await fetch(registry.at('api/live'), { headers })
    const events = eventsOf(response)
    const first = (await events.next()).value as Event
    expect([first.name, first.data.message]).toEqual(['problem', expect.stringContaining('could not be read')])
    expect((await registry.get('healthz')).status).toBe(503)
    expect(await jsonOf(await registry.get('healthz'))).toEqual({ redis: 'away' })
    const answer = await registry.get('api/tasks')
    expect([answer.status, (await jsonOf(answer)).code]).toEqual([503, 'NotEnqueued'])
    const server = await startServer({ args: ['--unixsocket', path] })
    fixture.onEnd(() => server.stop())
    for await (const { name } of events) if (name === 'reading') break
    expect(await jsonOf(await registry.get('healthz'))).toEqual({ redis: 'ok' })
  })

  it('has room for so many pages, and ends with the service', async () => {
    const registry = await fixture.registry()
    const client = new AbortController()
    const open = () => fetch(registry.at('api/live?topics=summary'), { headers, signal: client.signal })
    const streams = await Promise.all(Array.from({ length: 33 }, open))
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
    const refused = await open()
    expect([refused.status, (await jsonOf(refused)).code]).toEqual([503, 'Unavailable'])
    await streams[0]!.body!.cancel()
    await expect.poll(async () => (await open()).status).toBe(200)
    const ended = Promise.all(streams.slice(1).map(stream => stream.text()))
    await registry.close()
    expect((await ended).every(text => text.includes('event: reading'))).toBe(true)
  })
})

/** A response whose reader is as slow as the test wants. */
const slowResponse = () => {
  const written: string[] = []
  const response = {
    writableLength: 0,
    writableEnded: false,
    destroyed: false,
    write: (text: string) => written.push(text),
    on: () => undefined,
    end: () => undefined,
  }
  return { response, written }
}

describe('a stream whose page does not read', () => {
  it('skips readings, of which the next one tells all the same', () => {
    const { response, written } = slowResponse()
    const trends = { of: () => [], earliest: () => undefined }
    const parts = { topics: ['tasks'] as const, trends, notice: () => undefined }
    const stream = new LiveStream(response as never, parts, false)
    const load = {}
    const reading = (...tasks: string[]) => {
      const rows = tasks.map(task => ({
        task,
        description: '',
        queue: 'q',
        queues: [],
        workers: [],
        conflict: false,
        load,
      }))
      stream.onReading({
        tookMs: 1,
        overview: { atMs: 1, tasks: rows, workers: [], queues: [], refusals: [], load },
      } as never)
    }
    reading('a:1.0', 'b:1.0')
    response.writableLength = 2_000_000
    reading('b:1.0', 'c:1.0')
    stream.onProblem('away')
    expect(written).toHaveLength(1)
    response.writableLength = 0
    reading('b:1.0', 'c:1.0')
    const delta = JSON.parse(/data: (.*)/.exec(written[1]!)![1]!).tasks
    expect([delta.full, delta.rows.map(({ task }: TaskRow) => task), delta.gone]).toEqual([false, ['c:1.0'], ['a:1.0']])
    stream.end()
  })
})
