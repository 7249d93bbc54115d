import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { defineTask, PutOff, Worker } from '../../src/index.ts'
import { freePort } from '../../tools/redis-server.mjs'
import { root } from './cli-fixture.ts'
import { type ExampleApps, hasSaid } from './example-app.ts'
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
  ms: number
}

/** Has the example do all that its README says, with its own worker, without one, and with one that is slow. */
export const keepsItsPromises = async (apps: ExampleApps, options: ExampleOptions): Promise<void> => {
  const readme = readFileSync(join(root, 'examples', options.name, 'README.md'), 'utf8')
  for (const command of options.told ?? [options.worker, options.web]) expect(readme).toContain(command)
  const port = await freePort()
  const env = { ...options.env, PORT: String(port) }
  const worker = apps.start(options.worker, options.cwd, env)
  const web = apps.start(options.web.replace('--port 3000', `--port ${port}`), options.cwd, env)
  const get = async (path: string, signal?: AbortSignal): Promise<Answer> => {
    const from = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}/shipping/${path}`, { signal: signal ?? null })
    const body = (await response.json()) as Answer['body']
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, body, retryAfter, ms: performance.now() - from }
  }
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/shipping`).then(
      () => true,
      () => false,
    )

  await hasSaid(worker, /worker started/)
  await eventually(isUp, 60_000)
  expect(await get('DE?grams=1200')).toMatchObject({ status: 200, body: { cents: 980 } })
  for (const grams of ['?grams=much', '?grams=-1', `?grams=${'9'.repeat(5000)}`, ''])
    expect(await get(`DE${grams}`)).toMatchObject({ status: 400, body: { code: 'InvalidArgs' }, retryAfter: null })
  expect(await get('XX?grams=1')).toMatchObject({ status: 404, body: { code: 'NoSuchCountry' } })
  const promised = [...readme.matchAll(/localhost:3000\/shipping\/(\S+?)' +# (\d+) /g)]
  expect(promised.length).toBe(3)
  for (const [, path, status] of promised) expect((await get(path!)).status).toBe(Number(status))

  await withoutWorker(() => worker.signal('SIGKILL'), get)
  await withSlowWorker(apps.redis, get, options.noticesLeaving)

  expect(await connectionsOfHubs(apps.redis)).toBeGreaterThan(0)
  web.signal('SIGTERM')
  await web.ended
  await eventually(async () => (await connectionsOfHubs(apps.redis)) === 0)
}

/** Each request is answered in time, and soon with what is the matter. */
const withoutWorker = async (kill: () => void, get: (path: string) => Promise<Answer>) => {
  kill()
  const seen: Answer[] = []
  await eventually(async () => {
    const answer = await get('DE?grams=1200')
    seen.push(answer)
    return answer.status === 503
  }, 30_000)
  expect(seen.at(-1)).toMatchObject({ body: { code: 'NoWorkers' }, retryAfter: '1' })
  expect(seen.at(-1)!.ms).toBeLessThan(1500)
  expect(seen.filter(({ status, ms }) => ![502, 503, 504].includes(status) || ms > 3000)).toEqual([])
}

const withSlowWorker = async (
  redis: string,
  get: (path: string, signal?: AbortSignal) => Promise<Answer>,
  noticesLeaving: boolean,
) => {
  const ends: string[] = []
  let started = 0
  const slow = defineTask('shipping_cost:1.0', {}, async (args, { signal }) => {
    if ((args as { country: string }).country === 'FR') throw new PutOff(6500)
    started++
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    ends.push((signal.reason as { code: string }).code)
  })
  const worker = new Worker({ redis, tasks: [slow], logLevel: 'silent' })
  await worker.start()
  try {
    await eventually(async () => (await get('FR?grams=1')).status !== 503)
    // How long to wait is what the error says.
    expect(await get('FR?grams=1')).toMatchObject({ retryAfter: '7' })
    const late = await get('DE?grams=1')
    expect(late).toMatchObject({ status: 504, retryAfter: null })
    expect(late.ms).toBeLessThan(4000)
    if (!noticesLeaving) return
    await eventually(() => ends.length === started)
    const before = started
    const leaving = new AbortController()
    const left = get('DE?grams=1', leaving.signal).catch(() => 'left')
    await eventually(() => started > before)
    const from = performance.now()
    leaving.abort()
    expect(await left).toBe('left')
    await eventually(() => ends.length > before)
    expect(ends.at(-1)).toBe('Aborted')
    // Long before its deadline.
    expect(performance.now() - from).toBeLessThan(1500)
  } finally {
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
