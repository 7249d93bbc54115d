import type { Events } from '../figures/events.ts'
import type { UnreadableRecord } from '../wire/foreign.ts'

/** Passes on each unreadable record once, and so many at most. */
export const eachOnce = (most: number, pass: (record: UnreadableRecord) => void): typeof pass => {
  const passed = new Set<string>()
  return record => {
    const name = `${record.key} ${record.field ?? ''}`
    if (passed.has(name) || passed.size >= most) return
    passed.add(name)
    pass(record)
  }
}

/** Tells of each unreadable record once. */
export const unreadableTeller = (events: Events): ((record: UnreadableRecord) => void) =>
  eachOnce(1000, record => events.emit('registry:unreadable', record))
