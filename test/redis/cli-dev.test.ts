import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { Hub } from '../../src/index.ts'
import { ensureBuild, root } from '../support/cli-fixture.ts'

/** `pshub dev` as it is typed, in a folder of its own, with a Redis of its own. */
const ends: (() => unknown)[] = []
beforeAll(() => ensureBuild(), 120_000)
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const pshub = pathToFileURL(join(root, 'dist/index.js')).href
const taskFile = (handler: string, more = '') =>
  `import { defineTask } from '${pshub}'\n${more}\nexport const say = defineTask('say:1.0', { timeoutMs: 20_000 }, ${handler})\n`

interface Dev {
  child: ChildProcess
  folder: string
  said(): string
  /** Address of its Redis, host and port. */
  redis(): string | undefined
  shows(text: string | RegExp): Promise<void>
  write(name: string, text: string): void
  hub(): Hub
  ended: Promise<number | null>
}

const start = (files: Record<string, string>, args: string[] = ['--port', '0'], env: NodeJS.ProcessEnv = {}): Dev => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-dev-test-'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const { PSHUB_REDIS: _, ...rest } = process.env
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'dev', 'tasks.mjs', ...args], {
    cwd: folder,
    env: { ...rest, PWD: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk))
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const redis = () => /redis:\/\/(127\.0\.0\.1:\d+)/.exec(said)?.[1]
  ends.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await ended
    await expect.poll(() => processesIn(folder, redis()), { timeout: 15_000 }).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    child,
    folder,
    ended,
    write,
    said: () => said,
    redis,
    shows: text => expect.poll(() => said, { timeout: 20_000 }).toMatch(text),
    hub: () => {
      const hub = new Hub({ redis: /redis:\/\/127\.0\.0\.1:\d+/.exec(said)![0], logLevel: 'silent' })
      ends.push(() => hub.close())
      return hub
    },
  }
}

/** Processes that were started in this folder and are still there; redis-server writes over its environment, and is known by its port. */
const processesIn = (folder: string, redis?: string): string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        const env = readFileSync(`/proc/${pid}/environ`, 'utf8')
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const isRedis = redis !== undefined && line.includes('redis-server') && line.includes(redis)
        return isRedis || env.includes(`PWD=${folder}\0`) ? [line] : []
      } catch {
        return []
      }
    })

it('reloads when an import changes: what runs finishes with the old code, the next call has the new, and none fails', async () => {
  const dev = start({
    'tasks.mjs': taskFile(
      `async ({ ms = 0 }) => { await new Promise(resolve => setTimeout(resolve, ms)); return word }`,
      "import { word } from './word.mjs'",
    ),
    'word.mjs': "export const word = 'old'\n",
  })
  await dev.shows('Serving:')
  const hub = dev.hub()
  const answers: unknown[] = []
  const failures: unknown[] = []
  let isOver = false
  const calling = (async () => {
    while (!isOver)
      await hub.call('say:1.0', {}).then(
        answer => answers.push(answer),
        error => failures.push(error),
      )
  })()
  let hasEnded = false
  const long = hub.call('say:1.0', { ms: 4000 }).finally(() => (hasEnded = true))
  await expect.poll(() => answers.length).toBeGreaterThan(0)
  dev.write('word.mjs', "export const word = 'new'\n")
  await dev.shows('Reloaded')
  expect(hasEnded).toBe(false)
  expect(await hub.call('say:1.0', {})).toBe('new')
  expect(await long).toBe('old')
  isOver = true
  await calling
  expect(failures).toEqual([])
  expect([...new Set(answers)]).toEqual(['old', 'new'])
})

it('says that a file does not load, here and to every page, and serves on with what did', async () => {
  const dev = start({ 'tasks.mjs': taskFile("() => 'first'") })
  await dev.shows('Serving:')
  const notice = await noticesOf(dev)
  dev.write('tasks.mjs', `${taskFile("() => 'second'")}\nexport const oops = {{\n`)
  await dev.shows(/The tasks do not load: tasks\.mjs could not be loaded: Unexpected token/)
  await expect.poll(notice).toMatch(/do not load: tasks\.mjs.*Unexpected token.*\nWhat loaded before goes on serving/)
  expect(await dev.hub().call('say:1.0', {})).toBe('first')
  dev.write('tasks.mjs', taskFile("() => 'third'"))
  await dev.shows(/The tasks load again\.[\s\S]*Reloaded/)
  await expect.poll(notice).toBeUndefined()
  expect(await dev.hub().call('say:1.0', {})).toBe('third')
})

/** What the live stream says last, as the pages get it. */
const noticesOf = async (dev: Dev): Promise<() => string | undefined> => {
  const [, address] = /Registry: (\S+)#token/.exec(dev.said())!
  const [, token] = /until it stops: (\S+)/.exec(dev.said())!
  const ending = new AbortController()
  ends.push(() => ending.abort())
  const { body } = await fetch(new URL('api/live?topics=summary', address), {
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
    signal: ending.signal,
  })
  let text = ''
  void (async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk
  })().catch(() => undefined)
  await expect.poll(() => text).toContain('event: reading')
  return () => {
    const last = [...text.matchAll(/event: reading\ndata: (.*)\n\n/g)].at(-1)![1]!
    return (JSON.parse(last) as { notice?: string }).notice
  }
}

it('waits for a file, and for an import, that is not there yet', async () => {
  const dev = start({})
  await dev.shows(/do not load: There is no module tasks\.mjs[\s\S]*Nothing is served/)
  dev.write('tasks.mjs', taskFile('() => word', "import { word } from './lib/word.mjs'"))
  await dev.shows(/do not load: [\s\S]*lib\/word\.mjs/)
  mkdirSync(join(dev.folder, 'lib'))
  dev.write('lib/word.mjs', 'export const word = 7\n')
  await dev.shows('Serving:')
  expect(await dev.hub().call('say:1.0', {})).toBe(7)
})

it('starts another worker when one dies', async () => {
  const dev = start({ 'tasks.mjs': taskFile('({ end }) => end ? process.exit(9) : process.pid') })
  await dev.shows('Serving:')
  const hub = dev.hub()
  const before = await hub.call('say:1.0', {})
  void hub.call('say:1.0', { end: true }).catch(() => undefined)
  await dev.shows('The worker ended (9)')
  await expect.poll(() => hub.call('say:1.0', {}).catch(() => before)).not.toBe(before)
})

it.each(['SIGINT', 'SIGTERM'] as const)('ends all of it by %s: what runs finishes', async signal => {
  const dev = start({
    'tasks.mjs': taskFile(
      "async () => { console.log('begun'); await new Promise(r => setTimeout(r, 1500)); console.log('done with it') }",
    ),
  })
  await dev.shows('Serving:')
  expect(processesIn(dev.folder, dev.redis()).length).toBe(4)
  void dev
    .hub()
    .call('say:1.0', {})
    .catch(() => undefined)
  await dev.shows('begun')
  dev.child.kill(signal)
  expect(await dev.ended).toBe(0)
  expect(dev.said()).toContain('done with it')
  expect(processesIn(dev.folder, dev.redis())).toEqual([])
})

it('leaves nothing behind when it is killed', async () => {
  const dev = start({ 'tasks.mjs': taskFile('() => 1') })
  await dev.shows('Serving:')
  dev.child.kill('SIGKILL')
  await dev.ended
  await expect.poll(() => processesIn(dev.folder, dev.redis()), { timeout: 15_000 }).toEqual([])
})

const occupied = async (port: number): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  ends.push(() => server.close())
  return (server.address() as { port: number }).port
}

it('takes a free port where its own is taken, and refuses one that was named', async () => {
  const port = await occupied(0)
  const named = start({ 'tasks.mjs': taskFile('() => 1') }, ['--port', String(port)])
  expect(await named.ended).toBe(2)
  expect(named.said()).toContain(`port ${port} is taken; choose another --port`)
  const other = start({ 'tasks.mjs': taskFile('() => 1') }, [], { PSHUB_REGISTRY_PORT: String(port) })
  await other.shows(/is taken; the pages are at a free one\.\nRegistry: http[\s\S]*Serving:/)
})

it('leaves 6379 to whoever has it', async () => {
  await occupied(6379).catch(() => undefined)
  const dev = start({ 'tasks.mjs': taskFile('() => 1') })
  await dev.shows(/6379 is taken: other commands need --redis redis:\/\/127\.0\.0\.1:\d+/)
  await dev.shows('Serving:')
  expect(await dev.hub().call('say:1.0', {})).toBe(1)
})

it('runs the Redis in JavaScript where no server is on the PATH', async () => {
  const dev = start({ 'tasks.mjs': taskFile('() => 1') }, ['--port', '0'], { PATH: '/nowhere' })
  await dev.shows(/Redis: js-redis-server, in JavaScript/)
  await dev.shows('Serving:')
  expect(await dev.hub().call('say:1.0', {})).toBe(1)
})
