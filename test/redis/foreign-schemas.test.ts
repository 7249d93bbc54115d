import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { read } from '../support/protocol-document.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const server = useRegistry()

const cases = JSON.parse(read('clients/vectors/schema-refusals.json')).cases as { schema: object; says: string }[]

it('schemas that no client would publish harm neither hubs nor the registry, and leave the verdict to the worker', async () => {
  const names = cases.map((_, index) => `task${index}:1.0`)
  await server.worker(names.map(name => defineTask(name, {}, args => args)))
  const { tasks } = makeKeys(server.namespace)
  for (const [index, { schema }] of cases.entries()) {
    const name = names[index]!
    const card = JSON.parse((await server.redis.hget(tasks, name))!)
    await server.redis.hset(tasks, name, JSON.stringify({ ...card, args: schema }))
  }
  const hub = server.hub()
  const told: string[] = []
  hub.events.on('schema:unused', ({ task, reason }) => told.push(`${task}: ${reason}`))
  const registry = await server.registry()
  for (const name of names) {
    expect(await hub.call(name, { a: 1 }, { timeoutMs: 20_000 })).toEqual({ a: 1 })
  }
  // It takes some ten calls a second.
  for (const name of names.slice(0, 8))
    expect((await registry.post(`api/call/${name}`, { a: 1 })).status, name).toBe(200)
  expect((await registry.get('openapi.json')).status).toBe(200)
  expect(told).toEqual(cases.map(({ says }, index) => `${names[index]}: ${says}`.slice(0, told[index]?.length)))
})
