import { describe, expect, it } from 'vitest'
import { parseDuration } from '../../src/cli/duration.ts'
import { RedisAway } from '../../src/cli/redis-away.ts'
import { Events } from '../../src/figures/events.ts'
import { type Logger, subscribeLog } from '../../src/outlets/log.ts'
import { read } from '../support/protocol-document.ts'

/** What people are told in the same words by all languages; the other ones are held against the same file. */
const advice = JSON.parse(read('clients/vectors/advice.json'))

interface Line {
  level: string
  message: string
  fields: Record<string, unknown>
}

/** The lines that an event makes. */
const linesOf = (event: string, members: Record<string, unknown>): Line[] => {
  const lines: Line[] = []
  const write = (level: string) => (fields: Record<string, unknown>, message: string) =>
    lines.push({ level, message, fields })
  const levels = Object.fromEntries(['debug', 'info', 'warn', 'error'].map(level => [level, write(level)]))
  const events = new Events()
  subscribeLog(events, { ...levels, isLevelEnabled: () => true } as unknown as Logger)
  events.emit(event as 'problem', members as never)
  return lines
}

/** A member of each name, whose value is that name. */
const ofNames = (message: string) =>
  Object.fromEntries([...message.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, `<${name}>`]))

const filled = (text: string, values: Record<string, string>) =>
  text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')

describe('advice.json', () => {
  it.each(advice.log as { event: string; level: string; message: string }[])(
    'the line of $event',
    ({ event, level, message }) => {
      const members = ofNames(message)
      expect(linesOf(event, members)).toEqual([{ level, message: filled(message, members), fields: members }])
    },
  )

  it('has all lines that the log can have', () => {
    const known = [...advice.log.map(({ event }: { event: string }) => event), 'redis:down', 'task:settled']
    const worded = [
      ...read('src/outlets/log.ts').matchAll(/^ {2}'?([a-z]+(?::[a-z]+)?)'?: \['|events\.on\('(\w+:\w+)'/gm),
    ]
    expect(worded.length).toBeGreaterThan(20)
    expect([...new Set(worded.map(([, line, subscribed]) => line ?? subscribed))].sort()).toEqual(known.sort())
  })

  it.each(advice.retrying as Record<string, string>[])(
    'the line of a connection that is gone: $reason',
    ({ reason, level, message, told }) => {
      expect(linesOf('redis:down', { role: 'worker commands', reason })).toEqual([
        { level, message, fields: { role: 'worker commands', reason: told } },
      ])
    },
  )

  it('a Redis that is away', () => {
    for (const { redis, reason, told } of advice.away) expect(new RedisAway(redis, reason).message).toBe(told)
  })

  it.each(advice.durations.cases as { text: string; ms: number | null }[])('a duration: "$text"', ({ text, ms }) => {
    if (ms !== null) return expect(parseDuration(text, '--grace')).toBe(ms)
    expect(() => parseDuration(text, '--grace')).toThrow(filled(advice.durations.wrong, { what: '--grace', text }))
  })
})
