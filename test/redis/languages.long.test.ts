import { Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/cli/run-command.ts'
import { defineTask, HubError } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { startLiveWorker } from '../support/live-languages/start.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'
import { Generator, randomOf } from '../support/schema-judges/generate.ts'
import { type Case, judged } from '../support/schema-judges/judges.ts'

/** Workers of all languages at once. */
const fixture = useRegistry()

/** A schema that is taken, with values that fit it and values that do not. */
interface Known extends Case {
  fits: boolean[]
}

const seed = Number(process.env.PSHUB_SCHEMA_SEED ?? 41)
const count = 40

const knownCases = (): Known[] => {
  const found: Known[] = []
  for (let index = 0; found.length < count; index++) {
    const generator = new Generator(randomOf(seed * 10_000 + index))
    const one = { schema: generator.schema(), values: Array.from({ length: 8 }, () => generator.value()) }
    const verdict = judged(one)
    if ('fits' in verdict && new Set(verdict.fits).size === 2) found.push({ ...one, fits: verdict.fits })
  }
  return found
}

const languages = ['typescript', 'python', 'ruby'] as const

/** What is said of a value: it fits, it does not, or what else became of the call. */
type Said = boolean | string

const saidOf = (code: string | undefined): Said => (code === undefined ? true : code === 'InvalidArgs' ? false : code)

type Way = (language: string, task: string, value: unknown) => Promise<Said>

const throughHub = (): Way => {
  const hub = fixture.hub()
  return (_, task, value) =>
    hub.call(task, value, { timeoutMs: 60_000 }).then(
      () => true,
      error => saidOf(error instanceof HubError ? error.code : String(error)),
    )
}

const throughGateway =
  (registry: TestRegistry): Way =>
  async (_, task, value) => {
    const answer = await registry.post(`api/call/${task}`, JSON.stringify(value), {
      headers: { 'pshub-timeout-ms': '60000' },
    })
    const said = await jsonOf(answer)
    return saidOf(answer.ok ? undefined : said.code)
  }

const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })

const throughCommand: Way = async (_, task, value) => {
  const env = { PSHUB_REDIS: fixture.url, PSHUB_NAMESPACE: fixture.namespace }
  let told = ''
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      told += chunk
      done()
    },
  })
  const stdin = Readable.from([JSON.stringify(value)])
  const given = ['call', task, '-', '--timeout', '60s']
  const code = await runCommand(given, { env, cwd: '.', stdin, stdout: nowhere(), stderr })
  return saidOf(code === 0 ? undefined : (/InvalidArgs/.exec(told)?.[0] ?? told))
}

/** No caller has looked at the schema: what its worker says. */
const byHand: Way = async (language, task, value) => {
  const { calls, bell, reply } = queueKeys(fixture, language)
  const connection = fixture.redis.duplicate()
  const list = reply(`hand-${task.replace(/\W/g, '-')}-${++pushed}`)
  await connection.rpush(calls, JSON.stringify({ id: `hand-${pushed}`, task, args: value, result_queue: list }))
  await connection.multi().rpush(bell, '1').ltrim(bell, 0, 0).exec()
  const popped = await connection.blpop(list, 60)
  connection.disconnect()
  return saidOf(JSON.parse(popped![1]).error?.code)
}
let pushed = 0

describe('schemas by chance', () => {
  it(`have one verdict, whoever has them and whoever asks (seed ${seed})`, { timeout: 600_000 }, async () => {
    const cases = knownCases()
    const nameOf = (language: string, index: number) => `${language}-${index}:1.0`
    const tasksOf = (language: string) =>
      Object.fromEntries(cases.map(({ schema }, index) => [nameOf(language, index), schema]))
    const own = Object.entries(tasksOf('typescript')).map(([name, args]) => defineTask(name, { args }, () => true))
    await fixture.worker(own, { queue: 'typescript' })
    await startLiveWorker(fixture, 'python', { tasks: tasksOf('python') })
    await startLiveWorker(fixture, 'ruby', { tasks: tasksOf('ruby') })
    const registry = await fixture.registry({ maxRunsPerSecond: 1_000_000 })
    const ways = { hub: throughHub(), gateway: throughGateway(registry), worker: byHand, command: throughCommand }
    const wrong: unknown[] = []
    for (const [index, { schema, values, fits }] of cases.entries()) {
      const asked = languages.flatMap(language =>
        Object.entries(ways).flatMap(([name, way]) =>
          values.map(async (value, at) => {
            // A command takes its time: one value that fits, and one that does not.
            if (name === 'command' && at !== fits.indexOf(true) && at !== fits.indexOf(false)) return
            const said = await way(language, nameOf(language, index), value)
            if (said !== fits[at]) wrong.push({ language, name, said, schema, value })
          }),
        ),
      )
      await Promise.all(asked)
    }
    expect(wrong.slice(0, 10)).toEqual([])
    fixture.allowLeftovers()
  })
})

describe('a schedule', () => {
  it('whose time zone is not known to a worker in Python is left to one in TypeScript', {
    timeout: 120_000,
  }, async () => {
    const { redis } = fixture
    const { cron, ticks } = queueKeys(fixture)
    const hub = fixture.hub()
    const times = { cron: '0 0 1 1 *', timezone: 'Pacific/Chatham' }
    await hub.schedule('far', times, 'tick:1.0', {}, { queue: 'q' })
    const past = Date.now() - 60_000
    await redis.zadd(ticks, past, 'far')
    await startLiveWorker(fixture, 'python', { tasks: { 'tick:1.0': {} }, zones: false, queue: 'q' })
    const schedules = hub.schedules('q')
    const far = async () => (await schedules.list())[0]!
    await eventually(async () => (await far()).problem !== undefined)
    expect(await far()).toMatchObject({ nextMs: past, problem: expect.stringContaining('Pacific/Chatham') })
    const worker = await fixture.worker([defineTask('tick:1.0', {}, () => true)], { queue: 'q' })
    const told: number[] = []
    worker.events.on('schedule:tick', ({ tickMs }) => told.push(tickMs))
    await eventually(() => told.length > 0, 60_000)
    expect(told).toEqual([past])
    const { problem, nextMs } = await far()
    expect([problem, nextMs! > Date.now()]).toEqual([undefined, true])
    await redis.del(cron, ticks)
    fixture.allowLeftovers()
  })
})
