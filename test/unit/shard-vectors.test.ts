import { describe, expect, it } from 'vitest'
import { movedMessage } from '../../src/jobs/job-text.ts'
import { homeOf, parseShards } from '../../src/queue/shards.ts'
import { read } from '../support/protocol-document.ts'

/** The golden file of shards, held against the code that it describes. */
const { records, homes, moved } = JSON.parse(read('clients/vectors/shards.json'))

describe('shards.json', () => {
  it('records', () => {
    expect(records.length).toBeGreaterThan(30)
    for (const { queue, text, shards } of records) {
      const { earlier, ...found } = parseShards(text, queue) ?? {}
      expect(parseShards(text, queue) ? { ...found, earlier: earlier ?? null } : null, text).toEqual(shards)
    }
  })

  it('homes', () => {
    expect(homes.length).toBeGreaterThan(30)
    for (const { names, key, home } of homes) expect(homeOf(names, key), key).toBe(home)
  })

  it('moved', () => {
    expect(moved.length).toBeGreaterThan(5)
    for (const { title, text, nowUs, message } of moved) expect(movedMessage(text, nowUs), title).toBe(message)
  })
})
