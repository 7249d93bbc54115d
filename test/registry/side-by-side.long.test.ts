import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import type { History, LiveReading } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { bearer, clientOf, json, jsonOf, type TestRegistry, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

/** Charts of these registries see ten times as fast a clock, so that a minute is over in six seconds. */
const haste = 10

/** A registry in a process of its own. */
const registryProcess = async (baseMs: number): Promise<TestRegistry> => {
  const program = `import { Hub } from 'pshub'
    import { startRegistry } from 'pshub-registry'
    class HastyHub extends Hub {
      async overview() {
        const overview = await super.overview()
        return { ...overview, atMs: ${baseMs} + Math.round((overview.atMs - ${baseMs}) * ${haste}) }
      }
    }
    const hub = new HastyHub({ redis: '${fixture.url}', namespace: '${fixture.namespace}', name: 'registry', logLevel: 'silent' })
    const { view: viewToken, admin: adminToken } = ${JSON.stringify(tokens)}
    const { url } = await startRegistry({ port: 0, viewToken, adminToken, hub, logLevel: 'silent' })
    console.log(url)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  fixture.onEnd(() => child.kill('SIGKILL'))
  for await (const url of createInterface(child.stdout))
    return clientOf({ url, token: undefined, code: undefined, close: async () => void child.kill('SIGKILL') })
  throw new Error('The registry ended.')
}

/** Behind one proxy they have one name and one cookie; here the name of the cookie has the port. */
const cookieFor = ({ url }: TestRegistry, cookie: string) => ({
  cookie: cookie.replace(/_\d+=/, `_${new URL(url).port}=`),
})

/** What a live stream said, until it ended. */
const listen = async (registry: TestRegistry, cookie: string) => {
  const response = await fetch(registry.at('api/live?topics=queues'), { headers: cookieFor(registry, cookie) })
  expect(response.status).toBe(200)
  const paused = new Map<string, boolean>()
  const hears = async () => {
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^event: reading\ndata: (.*)$/.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        for (const row of data ? (JSON.parse(data) as LiveReading).queues!.rows : [])
          paused.set(row.queue, row.pausedMs !== undefined)
      }
    }
  }
  return { paused, ended: hears().catch(error => error as Error) }
}

const historyOf = async (registry: TestRegistry, range: string): Promise<History> =>
  jsonOf(await registry.get(`api/history?queue=images&range=${range}`))
const known = (history: History) => history.series.jobs.filter(value => value !== null)

it('two registries on one Redis share sessions, tell the same, and count nothing twice', async () => {
  fixture.allowLeftovers()
  const task = (version: string) => defineTask(`resize:${version}`, {}, () => null)
  const hub = fixture.hub()
  // Before the worker comes: one that is at work takes what is there for another second.
  await hub.pause('images')
  await fixture.worker([task('1.0')], { queue: 'images' })
  await fixture.worker([defineTask('mail:1.0', {}, () => null)], { queue: 'mail' })
  await hub.enqueueMany(Array.from({ length: 7 }, () => ['resize:1.0', {}]))
  const baseMs = (await hub.overview()).atMs
  const [one, other] = await Promise.all([registryProcess(baseMs), registryProcess(baseMs)])

  // Who logs in at one is known to the other, and both tell what was changed through either.
  const cookie = await one.logIn()
  const session = (registry: TestRegistry) =>
    fetch(registry.at('api/session'), { headers: cookieFor(registry, cookie) })
  expect(await jsonOf(await session(other))).toMatchObject({ role: 'admin' })
  const streams = await Promise.all([one, other].map(registry => listen(registry, cookie)))
  const hear = (isPaused: boolean) =>
    expect.poll(() => streams.map(({ paused }) => paused.get('mail'))).toEqual([isPaused, isPaused])
  await hear(false)
  await one.post('api/queues/mail/pause', {})
  await hear(true)
  await other.post('api/queues/mail/resume', {})
  await hear(false)

  // What they keep of a minute is what there was, once.
  await fixture.worker([task('2.0')], { queue: 'images' })
  const minuteKeys = async () => fixture.redis.keys(makeKeys(fixture.namespace).chart('minute', '*' as never))
  await expect.poll(async () => (await minuteKeys()).length, { timeout: 40_000 }).toBeGreaterThanOrEqual(3)
  for (const key of await minuteKeys()) {
    const rows = JSON.parse((await fixture.redis.get(key))!) as unknown[][]
    expect(rows.filter(([kind, name]) => kind === 'queue' && name === 'images').map(row => row[4])).toEqual([7])
  }
  for (const registry of [one, other]) expect(new Set(known(await historyOf(registry, '1h')))).toEqual(new Set([7]))

  // A third one, which reads what they kept, has it once as well.
  const third = await registryProcess(baseMs)
  const history = await historyOf(third, '1h')
  expect(new Set(known(history))).toEqual(new Set([7]))
  expect(known(history).length).toBeGreaterThanOrEqual(3)
  expect(history.deploys).toEqual([{ kind: 'task', what: 'resize:2.0', queue: 'images', atMs: expect.any(Number) }])

  // A log-out at one is one at the other, and ends both streams.
  const headers = { ...json, ...cookieFor(one, cookie), 'sec-fetch-site': 'same-origin' }
  const out = await fetch(one.at('api/logout'), { method: 'POST', headers, body: '{}' })
  expect(out.status).toBe(204)
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual([undefined, undefined])
  for (const registry of [one, other, third]) expect((await session(registry)).status).toBe(401)
  expect((await fetch(other.at('api/session'), { headers: bearer('view') })).status).toBe(200)
}, 120_000)
