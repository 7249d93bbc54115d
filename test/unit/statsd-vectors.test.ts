import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type EventName, Events } from '../../src/figures/events.ts'
import { metrics } from '../../src/outlets/metrics.ts'
import { subscribeStatsd } from '../../src/outlets/statsd/statsd.ts'
import { read } from '../support/protocol-document.ts'

interface Case {
  event: EventName
  with: object
  lines: string[]
  typescript?: string[]
}

const { name, metrics: listed, cases } = JSON.parse(read('clients/vectors/statsd.json'))

describe('metrics', () => {
  it('are in all languages those of the table', () => {
    expect(listed.map(({ only: _, ...metric }: { only?: string }) => metric)).toEqual(Object.values(metrics))
  })

  it('are sent for the same events, under the same names and tags', async () => {
    const daemon = createSocket('udp4').bind(0, '127.0.0.1')
    onTestFinished(() => void daemon.close())
    await once(daemon, 'listening')
    const statsd = `127.0.0.1:${(daemon.address() as AddressInfo).port}`
    for (const { event, with: details, lines, typescript = [] } of cases as Case[]) {
      const events = new Events()
      const options = {
        statsdPrefix: 'pshub.',
        statsdFormat: 'tags',
        statsdSampleRate: 1,
        statsdFlushMs: 60_000,
      } as const
      const end = subscribeStatsd(events, { statsd, name, ...options })
      // There may be no lines; this one comes in any case.
      events.emit('request:malformed', { queue: 'end', reason: '' })
      events.emit(event, details as never)
      const packet = once(daemon, 'message')
      await end()
      const sent = String((await packet)[0])
        .trim()
        .split('\n')
      const told = sent
        .filter(line => !line.includes('queue:end'))
        .map(line => line.replace(/-\d+(-\d+)?(?=,name)/, '-<pid>'))
      expect(told.sort(), `${event} ${JSON.stringify(details)}`).toEqual([...lines, ...typescript].sort())
    }
  })
})
