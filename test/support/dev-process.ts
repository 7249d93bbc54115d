import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeAll, expect } from 'vitest'
import { Hub } from '../../src/index.ts'
import { ensureBuild, root } from './cli-fixture.ts'

/** `pshub dev` as it is typed, in a folder of its own, with a Redis of its own. */
const ends: (() => unknown)[] = []
/** Runs at the end of the test, last added first. */
export const onEnd = (end: () => unknown): void => void ends.push(end)
beforeAll(() => ensureBuild(), 120_000)
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const pshub = pathToFileURL(join(root, 'dist/index.js')).href
export const taskFile = (handler: string, more = '') =>
  `import { defineTask } from '${pshub}'\n${more}\nexport const say = defineTask('say:1.0', { timeoutMs: 20_000 }, ${handler})\n`

export interface Dev {
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

export const startDev = (
  files: Record<string, string>,
  args: string[] = ['--port', '0'],
  env: NodeJS.ProcessEnv = {},
): Dev => {
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
    await expect.poll(() => processesIn(folder, redis()), { timeout: 60_000 }).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    child,
    folder,
    ended,
    write,
    said: () => said,
    redis,
    shows: text => expect.poll(() => said, { timeout: 60_000 }).toMatch(text),
    hub: () => {
      const hub = new Hub({
        redis: /redis:\/\/127\.0\.0\.1:\d+/.exec(said)![0],
        namespace: 'pshub-dev',
        logLevel: 'silent',
      })
      ends.push(() => hub.close())
      return hub
    },
  }
}

/** Processes that were started in this folder and are still there; redis-server writes over its environment, and is known by its port. */
export const processesIn = (folder: string, redis?: string): string[] =>
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
