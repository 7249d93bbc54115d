import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startServer } from '../../tools/redis-server.mjs'
import { eventually } from '../support/hub-fixture.ts'

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'dist/cli/main.js')
const nowhere = 'redis://127.0.0.1:1'

let server: Awaited<ReturnType<typeof startServer>>
let redis: Redis
let folder: string
let namespace = 'cli0'
let count = 0
const children = new Set<ChildProcessWithoutNullStreams>()

const taskModule = () => `
import { defineTask, TaskError } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
const numbers = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a'],
  additionalProperties: false }
export const add = defineTask('add:1.0', { description: '# Adds two numbers\\nMore of it.', args: numbers,
  result: { type: 'number' }, idempotent: true }, ({ a, b = 0 }) => a + b)
export const plus = add
export default defineTask('echo:1.2', {}, value => value)
export const more = [
  defineTask('fail:1.0', {}, () => { throw new TaskError('no\\u001b[31mluck', { data: { why: 'chance' } }) }),
  defineTask('wrong:1.0', { result: { type: 'string' } }, () => 5),
]
export const rest = {
  slow: defineTask('slow:1.0', { timeoutMs: 60_000 }, async ({ ms }, context) => {
    context.log.warn('slow begins')
    await new Promise(resolve => setTimeout(resolve, ms))
    return { slept: ms }
  }),
  stray: defineTask('stray:1.0', {}, () => { Promise.reject(new Error('astray')); return 'done' }),
  crash: defineTask('crash:1.0', {}, () => { setTimeout(() => { throw new Error('crashed') }, 1); return 'done' }),
}
`

beforeAll(async () => {
  if (!existsSync(join(root, 'dist/.built'))) execFileSync(process.execPath, ['tools/build.mjs'], { cwd: root })
  server = await startServer()
  redis = new Redis(server.url)
  folder = mkdtempSync(join(tmpdir(), 'pshub-cli-'))
  writeFileSync(join(folder, 'tasks.mjs'), taskModule())
}, 120_000)

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await eventually(() => children.size === 0)
  namespace = `cli${++count}`
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Ended {
  code: number | null
  out: string
  err: string
}

interface Running {
  child: ChildProcessWithoutNullStreams
  ended: Promise<Ended>
  /** Resolves when stdout or stderr has shown it. */
  shows(text: string): Promise<void>
  signal(name: NodeJS.Signals): void
}

const start = (args: string[], env: Record<string, string> = {}): Running => {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, PSHUB_REDIS: server.url, PSHUB_NAMESPACE: namespace, ...env },
  })
  children.add(child)
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => (out += chunk))
  child.stderr.on('data', chunk => (err += chunk))
  child.stdout.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Ended>(done => {
    child.once('close', code => {
      children.delete(child)
      done({ code, out, err })
    })
  })
  return {
    child,
    ended,
    shows: async text => {
      await eventually(() => `${out}${err}`.includes(text) || (child.exitCode !== null && `${out}${err}`), 10_000)
      expect(out + err).toContain(text)
    },
    signal: name => void child.kill(name),
  }
}

const run = (args: string[], { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {}) => {
  const { child, ended } = start(args, env)
  child.stdin.end(input)
  return ended
}

const startWorker = async (...args: string[]): Promise<Running> => {
  const worker = start(['worker', './tasks.mjs', ...args])
  await worker.shows('worker started')
  return worker
}

const module = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return `./${name}`
}

describe('help', () => {
  it('is an error to ask for nothing, and shows what there is', async () => {
    const { code, out, err } = await run([])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('Usage: pshub <command>')
  })

  it('lists the commands, and the version alone', async () => {
    const help = await run(['--help'])
    expect(help.code).toBe(0)
    for (const name of ['worker', 'call', 'tasks', 'workers', 'queues', 'check'])
      expect(help.out).toContain(`  ${name} `)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  })

  it.each(['worker', 'call', 'tasks', 'workers', 'queues', 'check'])('teaches %s', async name => {
    const [asked, flag] = await Promise.all([run(['help', name]), run([name, '--help'])])
    expect(asked).toEqual(flag)
    expect(asked.code).toBe(0)
    for (const part of [`Usage: pshub ${name}`, 'Options:', 'Examples:', 'Exit codes:', 'Environment:', 'PSHUB_REDIS'])
      expect(asked.out).toContain(part)
    for (const line of asked.out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  })

  it.each([
    [['taks'], "pshub has no command 'taks'. Did you mean tasks?"],
    [['help', 'cal'], "pshub has no command 'cal'. Did you mean call?"],
    [['queues', '--jsn'], 'pshub queues has no option --jsn. Did you mean --json?'],
    [['call'], 'pshub call needs the name of a task'],
    [['--json', 'tasks'], 'The command comes first'],
    [['tasks', '--redis', 'http://x'], "'redis' must be a URL like redis://127.0.0.1:6379"],
    [['tasks', '--config', 'gone.json'], 'The settings file gone.json cannot be read'],
    [['call', 'x', '--timeout', 'soon'], '--timeout must be a duration like 500ms, 2s or 1m'],
    [['call', 'x', '{a:1}'], 'The second argument is not JSON'],
  ])('%j ends with 2 and says why', async (args, message) => {
    const { code, out, err } = await run(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
    expect(err).not.toMatch(/\n\s+at /)
  })
})

describe('call', () => {
  it('prints the result as one line of JSON to a pipe', async () => {
    await startWorker()
    expect(await run(['call', 'add:1.0', '{"a":1,"b":2}'])).toEqual({ code: 0, out: '3\n', err: '' })
    expect(await run(['call', 'echo', '-'], { input: '\ufeff{\n "z": [1] }' })).toEqual({
      code: 0,
      out: '{"z":[1]}\n',
      err: '',
    })
    expect((await run(['call', 'echo:1'])).out).toBe('{}\n')
    const hostile = await run(['call', 'echo', '"\\u009b2J\\u202e"'])
    expect(hostile.out).toBe('"\\u009b2J\\u202e"\n')
  })

  it('ends with 1 when the task ran and failed', async () => {
    await startWorker()
    const failed = await run(['call', 'fail'])
    expect(failed).toEqual({
      code: 1,
      out: '',
      err: 'TaskFailed: no\\u001b[31mluck\n  data: {"why":"chance"}\n',
    })
    const wrong = await run(['call', 'wrong'])
    expect(wrong.code).toBe(1)
    expect(wrong.err).toMatch(/^InvalidResult: The result of wrong:1\.0 does not fit:\n {2}\S.*must be string/)
  })

  it('ends with 3 when the task certainly was not run', async () => {
    const worker = await startWorker()
    const unknown = await run(['call', 'ad'])
    expect(unknown.code).toBe(3)
    expect(unknown.err).toMatch(/^NoSuchTask: No worker ever declared ad\. Did you mean add:1\.0/)
    const unfit = await run(['call', 'add', '{"c":1}'])
    expect(unfit.code).toBe(3)
    expect(unfit.err).toMatch(/^InvalidArgs: The arguments of add:1\.0 do not fit:\n {2}\/\S+ {2}\w/)
    const large = await run(['call', 'echo', '-', '--max-payload-bytes', '1024'], { input: `"${'x'.repeat(2000)}"` })
    expect(large.code).toBe(3)
    expect(large.err).toContain('PayloadTooLarge: ')
    worker.signal('SIGTERM')
    await worker.ended
    const unserved = await run(['call', 'add', '{"a":1}', '--json'])
    expect(unserved.code).toBe(3)
    expect(unserved.out).toBe('')
    expect(JSON.parse(unserved.err)).toMatchObject({ code: 'NoWorkers', ran: 'no', retryable: true })
  })

  it('ends with 4 when the task may have run', async () => {
    await startWorker()
    const late = await run(['call', 'slow', '{"ms":5000}', '--timeout', '200ms'])
    expect(late.code).toBe(4)
    expect(late.err).toMatch(/^Timeout: slow:1\.0 did not answer.*\nIt may have been run\.\n$/)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('gives up at %s and ends with %i', async (signal, code) => {
    const worker = await startWorker()
    const call = start(['call', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    call.signal(signal)
    const ended = await call.ended
    expect(ended.code).toBe(code)
    expect(ended.out).toBe('')
    expect(ended.err).toContain('Aborted: ')
  })
})

describe('worker', () => {
  it('lets what runs finish when it is told to stop, and ends with 0', async () => {
    const worker = await startWorker()
    const call = run(['call', 'slow', '{"ms":3000}'])
    await worker.shows('slow begins')
    worker.signal('SIGTERM')
    // One Ctrl-C may come twice at once, from the terminal and from npm; that is no second one.
    worker.signal('SIGINT')
    await worker.shows('stopping')
    await eventually(async () => (await run(['workers'])).out.includes('draining'))
    expect(await call).toEqual({ code: 0, out: '{"slept":3000}\n', err: '' })
    expect((await worker.ended).code).toBe(0)
    expect((await run(['workers', '--json'])).out).toBe('[]\n')
  })

  it('gives up what is still running when the grace is over', async () => {
    const worker = await startWorker('--grace', '100ms')
    const call = run(['call', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    worker.signal('SIGINT')
    expect((await worker.ended).code).toBe(0)
    const { code, err } = await call
    expect(code).toBe(4)
    expect(err).toContain('WorkerLost: ')
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('leaves at once at a second signal: %s, %i', async (signal, code) => {
    const worker = await startWorker()
    start(['call', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    worker.signal(signal)
    await worker.shows('stopping')
    const again = setInterval(() => worker.signal(signal), 50)
    const ended = await worker.ended
    clearInterval(again)
    expect(ended.code).toBe(code)
  })

  it('logs a rejection that nobody awaits and goes on', async () => {
    const worker = await startWorker()
    expect((await run(['call', 'stray'])).out).toBe('"done"\n')
    await worker.shows('a promise that nobody awaits was rejected')
    await worker.shows('astray')
    expect((await run(['call', 'add', '{"a":1}'])).out).toBe('1\n')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('stops in order after an exception that nothing caught, and ends with 1', async () => {
    const worker = await startWorker()
    const other = run(['call', 'slow', '{"ms":1000}'])
    await worker.shows('slow begins')
    await run(['call', 'crash'])
    expect(await other).toMatchObject({ code: 0, out: '{"slept":1000}\n' })
    const { code, err } = await worker.ended
    expect(code).toBe(1)
    expect(err).toContain('"reason":"crashed"')
    expect((await run(['workers', '--json'])).out).toBe('[]\n')
  })

  it('collects each task once, from named exports, the default, arrays and objects', async () => {
    const worker = await startWorker('--log-level', 'info')
    const names = JSON.parse((await run(['tasks', '--json'])).out).map(({ task }: { task: string }) => task)
    expect(names).toEqual(['add:1.0', 'crash:1.0', 'echo:1.2', 'fail:1.0', 'slow:1.0', 'stray:1.0', 'wrong:1.0'])
    worker.signal('SIGINT')
    await worker.ended
  })

  it('finds modules by file URL and packages by name, and CommonJS', async () => {
    mkdirSync(join(folder, 'node_modules/shop'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/shop/package.json'), '{"main":"main.cjs"}')
    const index = JSON.stringify(join(root, 'dist/index.js'))
    const code = `exports.ready = import(${index})\nexports.tasks = []`
    writeFileSync(join(folder, 'node_modules/shop/main.cjs'), code)
    expect((await run(['worker', 'shop'])).err).toContain('It exports default (object), ready (object), tasks (array).')
    const worker = start(['worker', pathToFileURL(join(folder, 'tasks.mjs')).href, './tasks.mjs'])
    await worker.shows('worker started')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('says what is wrong with a module in one sentence', async () => {
    const boom = 'const fail = () => {\n  throw new Error("boom")\n}\nfail()'
    const cases: [string, number, string][] = [
      ['./gone.mjs', 2, 'There is no module ./gone.mjs ('],
      ['no-such-package', 2, 'There is no module no-such-package: neither the file'],
      ['.', 2, '. is a directory'],
      [module('empty.mjs', 'export const a = 1, b = []'), 2, 'exports no task. It exports a (number), b (array).'],
      [module('throws.mjs', boom), 1, './throws.mjs failed while it was loaded: boom (file:'],
      [module('syntax.mjs', 'export const = 1'), 1, "./syntax.mjs could not be loaded: Unexpected token '='"],
      [module('lost.mjs', 'import "./gone.mjs"'), 2, './lost.mjs could not be loaded: Cannot find module'],
      [module('stuck.mjs', 'await new Promise(() => {})'), 1, './stuck.mjs did not finish loading'],
    ]
    for (const [name, code, message] of cases) {
      const ended = await run(['worker', name])
      expect(ended.err).toContain(message)
      expect(ended.err).not.toMatch(/\n\s+at /)
      expect(ended.code, name).toBe(code)
    }
    const debugged = await run(['worker', './throws.mjs', '--debug'])
    expect(debugged.err).toMatch(/\n\s+at fail \(.*throws\.mjs:2:9\)/)
  })

  it('refuses a Redis that would drop requests', async () => {
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    try {
      const worker = await run(['worker', './tasks.mjs'])
      expect(worker.code).toBe(2)
      expect(worker.err).toContain('This Redis cannot be used: maxmemory-policy is allkeys-lru')
      const check = await run(['check'])
      expect(check.code).toBe(1)
      expect(check.out).toMatch(/^error {4}eviction {5}maxmemory-policy is allkeys-lru/m)
    } finally {
      await redis.config('SET', 'maxmemory-policy', 'noeviction')
    }
  })
})

describe('check', () => {
  it('shows what it found, in words and as JSON', async () => {
    const shown = await run(['check'])
    expect(shown.code).toBe(0)
    expect(shown.out).toMatch(/^ok {7}reachable {4}redis:\/\/127\.0\.0\.1:\d+ answers within [\d.]+ ms$/m)
    expect(shown.out).toMatch(/^ok {7}eviction {5}noeviction$/m)
    expect(shown.out).toMatch(/^warning {2}persistence/m)
    const json = await run(['check', '--json'])
    expect(json.code).toBe(0)
    const { redis: target, pingMs, findings } = JSON.parse(json.out)
    expect(target).toBe(server.url)
    expect(pingMs).toBeGreaterThan(0)
    expect(findings.map(({ what }: { what: string }) => what)).toContain('role')
  })
})

const fakeWorker = async (id: string, card: object, stats: object | undefined, leaseEnd: number) => {
  const queue = (card as { queue?: string }).queue ?? 'default'
  await redis.hset(`${namespace}:workers`, id, JSON.stringify({ id, queue, tasks: {}, ...card }))
  if (stats) await redis.hset(`${namespace}:stats`, id, JSON.stringify(stats))
  await redis.zadd(`${namespace}:{${queue}}:leases`, leaseEnd, id)
}
const later = Date.now() + 3_600_000

describe('the lists', () => {
  it('teach the next command while the registry is empty', async () => {
    for (const name of ['tasks', 'workers', 'queues']) {
      const { code, out, err } = await run([name])
      expect({ code, out }).toEqual({ code: 0, out: '' })
      expect(err).toContain('pshub worker ./tasks.mjs')
      expect((await run([name, '--json'])).out).toBe('[]\n')
    }
  })

  it('tasks: aligned, marked in words where nobody serves, with a warning of conflicts', async () => {
    const worker = await startWorker()
    await redis.hset(
      `${namespace}:tasks`,
      'old:1.0',
      JSON.stringify({ task: 'old:1.0', queue: 'attic', timeoutMs: 90_000 }),
    )
    await fakeWorker('other', { host: 'h', tasks: { 'echo:1.2': 'another digest' } }, undefined, later)
    const { code, out, err } = await run(['tasks'])
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toBe('TASK       QUEUE    LIVE WORKERS  TIMEOUT  IDEMPOTENT  DESCRIPTION')
    expect(lines).toContain('add:1.0    default             1       5s  yes         Adds two numbers')
    expect(lines).toContain('echo:1.2   default             2       5s  no')
    expect(lines).toContain('old:1.0    attic            none   1m 30s  no')
    expect(err).toContain('Warning: live workers declare echo:1.2 with different schemas')
    const filtered = await run(['tasks', 'a', '--json'])
    const shown = JSON.parse(filtered.out).map(({ task }: { task: string }) => task)
    expect(shown).toEqual(['add:1.0', 'crash:1.0', 'fail:1.0', 'stray:1.0'])
    expect((await run(['tasks', 'ehco'])).err).toContain('Did you mean echo:1.2?')
    const details = (await run(['tasks', 'add:1.0'])).out
    for (const part of ['More of it.', 'idempotent    yes', '"additionalProperties": false', 'result:'])
      expect(details).toContain(part)
    worker.signal('SIGTERM')
    await worker.ended
  })

  it('workers: live, draining and lost, with numbers by their last digit', async () => {
    const seen = Date.now() - 65_000
    const counters = { ok: 12_345, failed: 6, expired: 0, malformed: 0 }
    const card = { host: 'alpha', pid: 7, slots: 8, tasks: { 'a:1.0': 'x' } }
    await fakeWorker('live-worker-1', card, { seen, busy: 3, draining: false, counters }, later)
    await fakeWorker('drain-worker-1', { ...card, host: 'beta' }, { seen, busy: 0, draining: true, counters }, later)
    await fakeWorker('lost-worker-1', { queue: 'gone', ...card }, { seen, busy: 0, draining: false, counters }, 1)
    await fakeWorker('strange', { queue: 'odd', host: { x: '\u001b[2J' }, tasks: null }, undefined, later)
    const { code, out } = await run(['workers'])
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^ID {8}QUEUE {4}HOST\/PID +BUSY {2}TASKS {5}OK {2}FAILED {2}LAST SEEN {2}STATE$/)
    expect(out).toMatch(/^live-wor {2}default {2}alpha\/7 +3\/8 {6}1 {2}12345 {7}6 {2}1m \ds ago {2}live$/m)
    expect(out).toMatch(/^drain-wo .*draining$/m)
    expect(out).toMatch(/^lost-wor .*lost$/m)
    expect(out).toMatch(/^strange .*\?\/0 {6}0 {6}\? {7}\? {10}\? {2}live$/m)
    const workers = JSON.parse((await run(['workers', '--json'])).out)
    expect(workers.find(({ id }: { id: string }) => id === 'lost-worker-1')).toMatchObject({ live: false, slots: 8 })
    expect(workers.find(({ id }: { id: string }) => id === 'strange').stats).toBe(null)
  })

  it('queues: a backlog that nobody serves is said in words', async () => {
    await redis.hset(`${namespace}:tasks`, 'x:1.0', JSON.stringify({ task: 'x:1.0', queue: 'busy' }))
    const at = (Date.now() - 30_000) * 1000
    await redis.rpush(`${namespace}:{busy}:calls`, `{"at":${at},"id":"x"}`, `{"at":${at},"id":"y"}`)
    const { code, out, err } = await run(['queues'])
    expect(code).toBe(0)
    expect(out.split('\n')[0]).toBe('QUEUE  BACKLOG  OLDEST WAIT  HELD  BUSY  WORKERS')
    expect(out).toMatch(/^busy {9}2 +3\d(\.\d)?s {5}0 {3}0\/0 {5}none$/m)
    expect(err).toBe(
      'Warning: 2 requests wait in busy, which no live worker serves. Start one: pshub worker <module> --queue busy\n',
    )
    const [queue] = JSON.parse((await run(['queues', '--json'])).out)
    expect(queue).toMatchObject({ queue: 'busy', backlog: 2, held: 0, busy: 0, slots: 0, workers: 0 })
    await redis.del(`${namespace}:{busy}:calls`)
    expect(JSON.parse((await run(['queues', '--json'])).out)[0].oldestMs).toBe(null)
  })

  it('show nothing that a terminal would obey', async () => {
    const evil = '\u001b]0;owned\u0007\u009b31m\u202e'
    const card = { task: 'evil:1.0', queue: `q${evil}`, description: `${evil}\nmore`, args: { [evil]: evil } }
    await redis.hset(`${namespace}:tasks`, 'evil:1.0', JSON.stringify(card))
    await fakeWorker('evil', { host: evil, pid: evil, tasks: { 'evil:1.0': evil } }, { seen: evil, busy: evil }, later)
    await redis.rpush(`${namespace}:{q${evil}}:calls`, 'x')
    for (const args of [
      ['tasks'],
      ['tasks', '--json'],
      ['tasks', 'evil:1.0'],
      ['workers'],
      ['queues'],
      ['call', 'evil'],
    ]) {
      const { out, err } = await run(args)
      expect(out + err).toMatch(/evil|owned/)
      expect((out + err).replaceAll('\n', ''), args.join(' ')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      if (args[0] === 'queues') expect(err).not.toContain('--queue')
    }
  })

  it('survive a reader that leaves, as call does', async () => {
    const worker = await startWorker()
    for (const args of [['tasks'], ['call', 'add', '{"a":1}']]) {
      const { child, ended } = start(args)
      child.stdout.destroy()
      expect(await ended).toEqual({ code: 0, out: '', err: '' })
    }
    worker.signal('SIGTERM')
    await worker.ended
  })

  it('are coloured when that is wanted, and say the same', async () => {
    const worker = await startWorker()
    const [plain, coloured] = await Promise.all([
      run(['tasks', '--namespace', namespace]),
      run(['tasks'], { env: { FORCE_COLOR: '1' } }),
    ])
    expect(plain.out).not.toContain('\u001b')
    expect(coloured.out).toContain('\u001b[1m')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
    expect(coloured.out.replace(/\u001b\[\d+m/g, '')).toBe(plain.out)
    worker.signal('SIGTERM')
    await worker.ended
  })
})

describe('while Redis is away', () => {
  it('every command says so in one sentence, soon, and ends with 3', async () => {
    const redisUrl = nowhere.replace('//', '//user:pa@ss@')
    const sentence = `Redis at ${nowhere} could not be reached: connect ECONNREFUSED 127.0.0.1:1; set --redis or PSHUB_REDIS.\n`
    for (const args of [['tasks'], ['workers'], ['queues'], ['check'], ['call', 'add']]) {
      const startedAt = performance.now()
      expect(await run([...args, '--redis', redisUrl]), args[0]).toEqual({ code: 3, out: '', err: sentence })
      expect(performance.now() - startedAt).toBeLessThan(3000)
    }
    const json = await run(['check', '--redis', nowhere, '--json'])
    expect(JSON.parse(json.err)).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
  })

  it('a missing or wrong password is told as what it is', async () => {
    const locked = await startServer({ args: ['--requirepass', 'secret'] })
    const check = (url: string) => run(['check', '--redis', url])
    expect((await check(locked.url)).err).toContain('could not be reached: it wants a password; set --redis')
    const wrong = await check(locked.url.replace('//', '//:guess@'))
    expect(wrong.code).toBe(3)
    expect(wrong.err).toMatch(/could not be reached: WRONGPASS [^;]*[^.]; set --redis/)
    expect(wrong.err).not.toContain('guess')
    const right = await check(locked.url.replace('//', '//:secret@'))
    expect(right.code).toBe(0)
    expect(right.out).not.toContain('secret')
    await locked.stop()
  })

  it('a spoilt registry is told as what Redis says of it', async () => {
    await redis.set(`${namespace}:tasks`, 'not a hash')
    const { code, err } = await run(['tasks'])
    expect(code).toBe(1)
    expect(err).toMatch(/^Redis refused: WRONGTYPE/)
  })

  it('a server that accepts and never answers is not waited for', async () => {
    const silent = createServer(socket => socket.on('error', () => undefined))
    await new Promise<void>(listening => silent.listen(0, '127.0.0.1', listening))
    const { port } = silent.address() as { port: number }
    for (const [args, reason] of [
      [['tasks'], 'no answer within 1800 ms'],
      [['call', 'add'], 'no answer in time'],
    ] as const) {
      const startedAt = performance.now()
      const { code, err } = await run([...args, '--redis', `redis://127.0.0.1:${port}`])
      expect(code).toBe(3)
      expect(err).toBe(
        `Redis at redis://127.0.0.1:${port} could not be reached: ${reason}; set --redis or PSHUB_REDIS.\n`,
      )
      expect(performance.now() - startedAt).toBeLessThan(3500)
    }
    silent.close()
  })

  it('a worker says so, goes on trying, and serves once it is there', async () => {
    const port = await freePort()
    const worker = start(['worker', './tasks.mjs', '--redis', `redis://127.0.0.1:${port}`])
    await worker.shows(`Redis at redis://127.0.0.1:${port} could not be reached`)
    const late = await startServer({ port })
    await worker.shows('connected to Redis')
    const call = () => run(['call', 'add', '{"a":1}', '--redis', late.url])
    await eventually(async () => (await call()).out === '1\n')
    await late.stop()
    await worker.shows('lost Redis')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })
})
