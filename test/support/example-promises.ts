import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { defineTask, PutOff, Worker } from '../../src/index.ts'
import { freePort } from '../../tools/redis-server.mjs'
import { root } from './cli-fixture.ts'
import { type ExampleApps, hasSaid, type Program } from './example-app.ts'
import { eventually } from './hub-fixture.ts'

export interface ExampleOptions {
  name: string
  cwd: string
  /** The two commands of its README, unless `told` has what it says. */
  worker: string
  web: string
  told?: string[]
  env?: Record<string, string>
  /** Whether its framework tells a handler that the visitor has left. */
  noticesLeaving: boolean
}

interface Answer {
  status: number
  body: Record<string, unknown>
  retryAfter: string | null
}

/** Has the example do all that its README says, with its own worker, without one, and with one that is slow. */
export const keepsItsPromises = async (apps: ExampleApps, options: ExampleOptions): Promise<void> => {
  const readme = readFileSync(join(root, 'examples', options.name, 'README.md'), 'utf8')
  for (const command of options.told ?? [options.worker, options.web]) expect(readme).toContain(command)
  const port = await freePort()
  // What others have declared is not known in it.
  const env = { ...options.env, PORT: String(port), PSHUB_NAMESPACE: options.name }
  const web = apps.start(options.web.replace(/([ :])3000/, `$1${port}`), options.cwd, env)
  const get: Get = async (path, { signal, timeoutMs } = {}) => {
    const waits: Record<string, string> = timeoutMs === undefined ? {} : { 'pshub-timeout-ms': timeoutMs }
    // Some servers close what is idle for a second or two, in the moment in which somebody asks anew.
    const headers = { connection: 'close', ...waits }
    const response = await fetch(`http://127.0.0.1:${port}/shipping/${path}`, { signal: signal ?? null, headers })
    const body = (await response.json()) as Answer['body']
    const type = response.headers.get('content-type')!
    expect(type).toMatch(response.ok ? /^application\/json/ : /^application\/problem\+json/)
    if (!response.ok) expect(body).toMatchObject({ status: response.status, title: expect.any(String) })
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, body, retryAfter }
  }
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/shipping`).then(
      () => true,
      () => false,
    )

  await eventually(isUp, 60_000)
  expect(await get('DE?grams=1200')).toMatchObject({ status: 404, body: { code: 'NoSuchTask' }, retryAfter: null })
  const worker = apps.start(options.worker, options.cwd, env)
  await hasSaid(worker, /worker started/)
  await eventually(async () => (await get('DE?grams=1200')).status === 200)
  expect(await get('DE?grams=1200')).toMatchObject({ status: 200, body: { cents: 980 } })
  for (const grams of ['?grams=much', '?grams=-1', `?grams=${'9'.repeat(3000)}`, ''])
    expect(await get(`DE${grams}`)).toMatchObject({ status: 400, body: { code: 'InvalidArgs' }, retryAfter: null })
  const documented = /```json\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/in-frameworks.md'), 'utf8'))![1]!
  if (options.name === 'express') expect((await get('DE?grams=much')).body).toEqual(JSON.parse(documented))
  expect(await get('DE?grams=1', { timeoutMs: 'soon' })).toMatchObject({ status: 400, body: { code: 'InvalidArgs' } })
  expect(await get('XX?grams=1')).toMatchObject({ status: 404, body: { code: 'NoSuchCountry' } })
  const promised = [...readme.matchAll(/localhost:3000\/shipping\/(\S+?)' +# (\d+) /g)]
  expect(promised.length).toBe(3)
  for (const [, path, status] of promised) expect((await get(path!)).status).toBe(Number(status))

  await withoutWorker(() => worker.signal('SIGKILL'), get)
  const at = { redis: apps.redis, namespace: options.name }
  await withSlowWorker(at, get, options.noticesLeaving)
  await untilItsEnd(at, get, web)
}

/** A path of the example, sent by somebody who may leave, and may say how long they wait. */
type Get = (path: string, request?: { signal?: AbortSignal; timeoutMs?: string }) => Promise<Answer>
interface Place {
  redis: string
  namespace: string
}

/** Each request is answered, and in the end with what is the matter. */
const withoutWorker = async (kill: () => void, get: Get) => {
  kill()
  const seen: Answer[] = []
  await eventually(async () => {
    const answer = await get('DE?grams=1200')
    seen.push(answer)
    return answer.status === 503
  }, 30_000)
  expect(seen.at(-1)).toMatchObject({ body: { code: 'NoWorkers' }, retryAfter: '1' })
  expect(seen.filter(({ status }) => ![502, 503, 504].includes(status))).toEqual([])
}

const withSlowWorker = async (at: Place, get: Get, noticesLeaving: boolean) => {
  const ends: string[] = []
  let started = 0
  const slow = defineTask('shipping_cost:1.0', {}, async (args, { signal }) => {
    if ((args as { country: string }).country === 'FR') throw new PutOff(6500)
    started++
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    ends.push((signal.reason as { code: string }).code)
  })
  const worker = new Worker({ ...at, tasks: [slow], slots: 1, maxBacklog: 1, logLevel: 'silent' })
  await worker.start()
  try {
    await eventually(async () => (await get('FR?grams=1')).status !== 503)
    // How long to wait is what the error says.
    expect(await get('FR?grams=1')).toMatchObject({ retryAfter: '7' })
    expect(await get('DE?grams=1')).toMatchObject({ status: 504, retryAfter: null })
    await eventually(() => ends.length === started)
    expect(await get('DE?grams=1', { timeoutMs: '600' })).toMatchObject({ status: 504 })
    await eventually(() => ends.length === started)
    const many = await Promise.all(Array.from({ length: 5 }, () => get('DE?grams=1')))
    const refused = many.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const each of refused) {
      expect(each.body).toMatchObject({ code: 'Overloaded', ran: 'no', retryable: true, detail: expect.any(String) })
      expect(Number(each.retryAfter)).toBeGreaterThanOrEqual(1)
    }
    await eventually(() => ends.length === started)
    if (!noticesLeaving) return
    const before = started
    const leaving = new AbortController()
    const left = get('DE?grams=1', { signal: leaving.signal }).catch(() => 'left')
    await eventually(() => started > before)
    leaving.abort()
    expect(await left).toBe('left')
    await eventually(() => ends.length > before)
    // And not at its deadline, which would be another code.
    expect(ends.at(-1)).toBe('Aborted')
  } finally {
    await worker.stop({ graceMs: 0 })
  }
}

/** A server that is told to end answers what it has begun, and leaves no connection behind. */
const untilItsEnd = async ({ redis, namespace }: Place, get: Get, web: Program) => {
  let release = () => {}
  const released = new Promise<void>(resolve => (release = resolve))
  const started: string[] = []
  const late = defineTask('shipping_cost:1.0', {}, async args => {
    const { country } = args as { country: string }
    started.push(country)
    if (country === 'DE') await released
    return { cents: 1 }
  })
  const worker = new Worker({ redis, namespace, tasks: [late], logLevel: 'silent' })
  await worker.start()
  try {
    await eventually(async () => (await get('FR?grams=1')).status === 200)
    const last = get('DE?grams=1')
    await eventually(() => started.includes('DE'))
    expect(await connectionsOfHubs(redis)).toBeGreaterThan(0)
    web.signal('SIGTERM')
    await eventually(() =>
      get('FR?grams=1', { timeoutMs: '100', signal: AbortSignal.timeout(400) }).then(
        () => false,
        () => true,
      ),
    )
    release()
    expect(await last).toMatchObject({ status: 200, body: { cents: 1 } })
    await web.ended
    await eventually(async () => (await connectionsOfHubs(redis)) === 0)
  } finally {
    release()
    await worker.stop({ graceMs: 0 })
  }
}

const connectionsOfHubs = async (url: string): Promise<number> => {
  const client = new Redis(url)
  try {
    return ((await client.client('LIST')) as string).split('\n').filter(line => / name=pshub-hub/.test(line)).length
  } finally {
    client.disconnect()
  }
}
