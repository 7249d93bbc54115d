import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, type TestContext } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useRedis } from '../support/hub-fixture.ts'

/** What PROTOCOL.md promises to programs without this package, shown with programs that have none of it. */
const server = useRedis()

const folder = fileURLToPath(new URL('../../examples/other-languages/', import.meta.url))
const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0
const python = ['python3', 'python'].find(name =>
  succeeds(name, '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'),
)
const redisCli = ['redis-cli', 'valkey-cli'].find(name => succeeds(name, '--version'))

/** How to run an example; a machine without its interpreter skips the test and says so. */
const commandFor = (file: string, context: TestContext): string[] => {
  const interpreter = file.endsWith('.py') ? python : redisCli && 'sh'
  if (interpreter) return [interpreter, `${folder}${file}`]
  const reason = `${file} was not run: there is no ${file.endsWith('.py') ? 'Python 3.9' : 'redis-cli'} on the PATH`
  console.log(reason)
  return context.skip(reason)
}

const environment = () => ({
  ...process.env,
  PSHUB_REDIS: server.url,
  PSHUB_NAMESPACE: server.namespace,
  REDIS_CLI: redisCli,
})

/** Starts an example worker and resolves once it said that it is ready; it is told to stop at the test's end. */
const startExample = async ([command, ...args]: string[]): Promise<{ stop(): Promise<void> }> => {
  const child: ChildProcess = spawn(command!, args, { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= (async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 8000)
      await exited
      clearTimeout(timer)
    })()
    return stopped
  }
  server.onEnd(stop)
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', chunk => String(chunk).includes('ready') && resolve())
    exited.then(() => reject(new Error(`${args[0]} ended before it was ready`)))
  })
  return { stop }
}

const runExample = async ([command, ...args]: string[], ...more: string[]) => {
  const { stdout } = await promisify(execFile)(command!, [...args, ...more], { env: environment(), timeout: 60_000 })
  return stdout.trim()
}

/** A plain worker leaves its task's card behind. Hubs leave their unanswered calls, for an hour. */
const expectOnly = async (...allowed: string[]) => {
  const left = (await server.keys()).filter(key => !allowed.includes(key) && !/^refus/.test(key))
  expect(left).toEqual([])
}

const wordsOf = (text: string) => text.split(' ').length

describe('a Hub calls', () => {
  it('a worker in Python', async context => {
    const worker = await startExample(commandFor('worker.py', context))
    const hub = server.hub()
    expect(await hub.call('greet:1.0', { name: 'Zoë 💚\n"' })).toBe('Hello, Zoë 💚\n"!')
    const names = Array.from({ length: 50 }, (_, n) => `n${n}`)
    const answers = await Promise.all(names.map(name => hub.call('greet', { name })))
    expect(answers).toEqual(names.map(name => `Hello, ${name}!`))
    await expect(hub.call('greet:1.0', {})).rejects.toMatchObject({ code: 'InvalidArgs' })
    server.allowLeftovers()
    await worker.stop()
    await expect(server.hub().call('greet:1.0', { name: 'x' })).rejects.toMatchObject({ code: 'NoWorkers' })
    await hub.close()
    await expectOnly('tasks')
  })

  it('a worker in shell', async context => {
    const worker = await startExample(commandFor('worker.sh', context))
    const hub = server.hub()
    for (const text of ['one', 'one two  three', 'quotes " \' $HOME `date` \\', 'Ünï cödé 💚']) {
      const count = wordsOf(text.replace('  ', ' '))
      expect(await hub.call('count_words:1.0', { text }), text).toBe(count)
    }
    // Python writes a space behind each colon.
    expect(await runExample(commandFor('caller.py', context), 'count_words:1.0', '{"text": "one two three"}')).toBe('3')
    server.allowLeftovers()
    await worker.stop()
    await hub.close()
    await expectOnly('tasks')
  })
})

describe('a Worker answers', () => {
  const greet = defineTask('greet:1.0', {}, args => `Hello, ${(args as { name: string }).name}!`)

  it('a caller in Python', async context => {
    await server.worker([greet])
    const caller = commandFor('caller.py', context)
    expect(await runExample(caller, 'greet:1.0', '{"name": "Zoë 💚"}')).toBe('"Hello, Zoë 💚!"')
    expect(JSON.parse(await runExample(caller, 'greet:1.0', '{"name": [1]}'))).toBe('Hello, 1!')
    await expect(runExample(caller, 'nobody:1.0', '{}')).rejects.toThrow('no worker ever declared nobody:1.0')
  })

  it('a caller in shell', async context => {
    await server.worker([greet])
    const reply = await runExample(commandFor('caller.sh', context), 'greet:1.0', '{"name":"Zoë 💚"}')
    expect(JSON.parse(reply)).toMatchObject({ id: '1', ok: true, result: 'Hello, Zoë 💚!' })
  })
})
