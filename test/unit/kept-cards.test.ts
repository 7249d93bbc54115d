import { expect, it } from 'vitest'
import { type FieldCard, KeptCards } from '../../src/catalogue/cards.ts'

const fieldsOf = (count: number) => Array.from({ length: count }, (_, at) => `task_${at}:1.0`)
const cards = (fields: string[], description: string) =>
  fields.map(field => ({ field, task: field, description }) as FieldCard)

it('a thousand cards are read each time', () => {
  const kept = new KeptCards()
  const fields = fieldsOf(1000)
  kept.take(fields, kept.due(fields), cards(fields, 'old'))
  expect(kept.due(fields)).toEqual(fields)
})

it('of more those that are new, and all others in turns; what is gone or cannot be read any more is left out', () => {
  const kept = new KeptCards()
  const fields = fieldsOf(3500)
  const first = kept.due(fields)
  expect(first).toEqual(fields)
  expect(kept.take(fields, first, cards(fields, 'old'))).toHaveLength(3500)
  const more = [...fields.slice(1), 'new:1.0']
  const seen = new Set<string>()
  for (let look = 0; look < 4; look++) {
    const due = kept.due(more)
    expect(due.length).toBeLessThanOrEqual(1001)
    if (look === 0) expect(due).toContain('new:1.0')
    for (const field of due) seen.add(field)
    const readable = due.filter(field => field !== 'task_2:1.0')
    kept.take(more, due, cards(readable, 'young'))
  }
  expect(seen.size).toBe(3500)
  const due = kept.due(more)
  const all = kept.take(more, due, cards(due, 'young'))
  expect(all.every(({ description }) => description === 'young')).toBe(true)
  expect(all.map(({ field }) => field)).not.toContain('task_0:1.0')
})
