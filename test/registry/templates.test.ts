import { describe, expect, it } from 'vitest'
import { longestTemplate, mostTemplates } from '../../src/catalogue/kept-templates.ts'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const path = 'api/templates/order:1.0'
const keyOf = (place: number) => makeKeys(fixture.namespace).template('order:1.0', place)

const order = defineTask(
  'order:1.0',
  { args: { type: 'object', properties: { password: { type: 'string', writeOnly: true } } } },
  () => null,
)

describe('templates', () => {
  it('are saved, replaced and deleted by who may run, and seen by who may look', async () => {
    await fixture.worker([order])
    const registry = await fixture.registry()
    const listed = async () => (await jsonOf(await registry.get(path, 'view'))).templates
    const save = (name: string, args: unknown) => registry.post(path, { name, args }, { role: 'run' })
    expect(await jsonOf(await registry.get(path, 'view'))).toEqual({ templates: [], most: mostTemplates })
    expect(await jsonOf(await save('big ones', { count: 9 }))).toEqual({
      task: 'order:1.0',
      name: 'big ones',
      changed: true,
    })
    await save('all', null)
    await save('big ones', { count: 10 })
    expect(await listed()).toEqual([
      { name: 'all', args: null, isWhole: true, by: expect.stringMatching(/^run:/), atMs: expect.any(Number) },
      expect.objectContaining({ name: 'big ones', args: { count: 10 } }),
    ])
    expect((await registry.get('api/templates/other:1.0').then(jsonOf)).templates).toEqual([])
    const remove = (name: string) => registry.post('api/template-removal/order:1.0', { name }, { role: 'run' })
    expect((await jsonOf(await remove('all'))).changed).toBe(true)
    expect((await jsonOf(await remove('all'))).changed).toBe(false)
    expect((await listed()).map(({ name }: { name: string }) => name)).toEqual(['big ones'])
    expect(await fixture.redis.pttl(keyOf(0))).toBeGreaterThan(360 * 24 * 3600_000)
    await remove('big ones')
  })

  it('are shown without what is secret, and without those of tasks that one may not see', async () => {
    await fixture.worker([order])
    const registry = await fixture.registry({ access: { tasks: [{ who: ['role:run'], see: ['order:*'] }] } })
    const save = { name: 'a', args: { count: 1, password: 'p' } }
    expect((await registry.post(path, save, { role: 'run' })).status).toBe(200)
    const { templates } = await jsonOf(await registry.get(path, 'run'))
    expect(templates).toMatchObject([{ name: 'a', args: { count: 1, password: '<secret>' }, isWhole: false }])
    expect((await jsonOf(await registry.get(path, 'view'))).templates).toEqual([])
    await registry.post('api/template-removal/order:1.0', { name: 'a' }, { role: 'run' })
  })

  it('are refused to who may only look, where the task may not be run, and where they are none', async () => {
    const registry = await fixture.registry({ runTasks: ['order:*'] })
    const status = async (answer: Promise<Response>) => (await answer).status
    const good = { name: 'a', args: 1 }
    expect(await status(registry.post(path, good, { role: 'view' }))).toBe(403)
    expect(await status(registry.post('api/template-removal/order:1.0', { name: 'a' }, { role: 'view' }))).toBe(403)
    expect(await status(registry.post('api/templates/mail:1.0', good))).toBe(403)
    for (const body of [
      {},
      { name: 'a' },
      { name: '  ', args: 1 },
      { name: 'x'.repeat(61), args: 1 },
      { ...good, more: 1 },
      { name: 'a', args: 'x'.repeat(longestTemplate) },
    ])
      expect(await status(registry.post(path, body)), JSON.stringify(body).slice(0, 80)).toBe(400)
    for (const task of ['order:', 'order:1', 'order:1.0:*'])
      expect(await status(registry.post(`api/templates/${task}`, good)), task).toBe(400)
    expect(await fixture.redis.keys(`${fixture.namespace}:template:*`)).toEqual([])
  })

  it('are bounded in number, also where something else lies in their place', async () => {
    const registry = await fixture.registry({ maxRunsPerSecond: 1000 })
    await fixture.redis.lpush(keyOf(3), 'a list')
    await fixture.redis.set(keyOf(4), '{"name":7}')
    await fixture.redis.set(keyOf(5), 'x'.repeat(1_000_000))
    const statuses: number[] = []
    for (let at = 0; at < mostTemplates - 2; at++)
      statuses.push((await registry.post(path, { name: `t${at}`, args: at })).status)
    expect(statuses).toEqual([...Array(mostTemplates - 3).fill(200), 409])
    expect((await jsonOf(await registry.get(path))).templates).toHaveLength(mostTemplates - 3)
    expect(await fixture.redis.lrange(keyOf(3), 0, -1)).toEqual(['a list'])
    await fixture.redis.del(...Array.from({ length: mostTemplates }, (_, at) => keyOf(at)))
  })
})
