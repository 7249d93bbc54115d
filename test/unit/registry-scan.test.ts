import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { Catalogue } from '../../src/catalogue/catalogue.ts'
import { makeKeys } from '../../src/wire/keys.ts'

/** A server with one hash, which tells what was fetched of it. */
const serving = (fields: Record<string, string | undefined>, fetched: string[] = []): Redis =>
  ({
    sendCommand: async ({ name, args: [, ...args] }: { name: string; args: string[] }) => {
      if (name === 'hkeys') return Object.keys(fields)
      if (name === 'hstrlen') return fields[args[0]!]?.length ?? 0
      fetched.push(...args)
      return args.map(field => fields[field] ?? null)
    },
  }) as unknown as Redis

const task = (name: string, more = {}) => JSON.stringify({ task: name, queue: 'q', at: 1, ...more })

it('a walk through the registry passes over what is none, and what went meanwhile', async () => {
  const fields = { 'a:1.0': task('a:1.0'), 'gone:1.0': undefined, 'spoilt:1.0': 'no card', 'b:1.0': task('b:1.0') }
  const cards = await new Catalogue(makeKeys('pshub')).allTasks(serving(fields))
  expect(cards.map(card => card.task)).toEqual(['a:1.0', 'b:1.0'])
})

it('what is as long as nothing that can be read is not even fetched, and is told', async () => {
  const fetched: string[] = []
  const noted: unknown[] = []
  const long = task('long:1.0', { description: 'x'.repeat(5_000_000) })
  const client = serving({ 'a:1.0': task('a:1.0'), 'long:1.0': long }, fetched)
  const catalogue = new Catalogue(makeKeys('pshub'), record => noted.push(record))
  expect(await catalogue.allTasks(client)).toHaveLength(1)
  expect(await catalogue.taskCards(client, ['long:1.0'])).toEqual([])
  expect(fetched).toEqual(['a:1.0'])
  const reason = 'it is longer than 4194304 bytes'
  expect(noted).toEqual([
    { key: 'pshub:tasks', field: 'long:1.0', reason },
    { key: 'pshub:tasks', field: 'long:1.0', reason },
  ])
})
