import { resolve } from 'node:path'
import { type Settings, settingsTable } from '../settings/read.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { devFile, devNamespace, writeDevFile } from './dev-file.ts'
import { type Part, startPart, thisPart } from './dev-parts.ts'
import { Reload } from './dev-reload.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import type { Output } from './output.ts'
import { loadRegistryPackage, type RunningService } from './registry-package.ts'
import { explained, tell } from './registry-service.ts'
import { onStopSignals } from './stop-signals.ts'

/** Stands for none that somebody named. */
const ownRedis = 'redis://own.invalid'
/** Also where a program shows the log, as an editor does: whoever develops reads it. */
const forPeople = { logFormat: 'pretty' } as const

const run = async (invocation: Invocation): Promise<number> => {
  const part = thisPart()
  if (part === 'redis') return (await import('./dev-redis.ts')).keepRedis()
  const named = settingsOf('worker', devCommand, invocation, 'info', { redis: ownRedis })
  // Its own Redis has a namespace of its own: a hub or a worker with none but defaults is a stranger there.
  const namespace = named.redis === ownRedis ? devNamespace : settingsTable.namespace.fallback
  const settings = settingsOf('worker', devCommand, invocation, 'info', {
    redis: ownRedis,
    namespace: String(namespace),
    ...forPeople,
  })
  if (part === 'worker') return (await import('./dev-worker.ts')).serveForDev(invocation.positionals, settings)
  return new Dev(invocation, settings).run()
}

/** All of it: Redis, pages, and the worker that follows the files. */
class Dev {
  readonly #invocation: Invocation
  readonly #settings: Readonly<Settings>
  readonly #output: Output
  readonly #parts: { redis?: Part; reload?: Reload; service?: RunningService } = {}
  #stop: (code: number) => void = () => undefined
  #broken: string | undefined
  #isEnding = false
  #removeFile = (): void => undefined

  constructor(invocation: Invocation, settings: Readonly<Settings>) {
    this.#invocation = invocation
    this.#settings = settings
    this.#output = invocation.output
  }

  async run(): Promise<number> {
    const stopped = new Promise<number>(done => {
      this.#stop = done
    })
    const endOfSignals = onStopSignals(
      () => this.#stop(exitCodes.ok),
      signal => process.exit(signalCodes[signal]),
    )
    try {
      // A signal while it starts is heeded too.
      const failed = this.#start().then(
        () => new Promise<never>(() => undefined),
        error => Promise.reject(error),
      )
      return await Promise.race([stopped, failed])
    } finally {
      await this.#end()
      endOfSignals()
    }
  }

  async #start(): Promise<void> {
    const redis = await this.#redis()
    await this.#pages(redis)
    this.#parts.reload = new Reload({
      files: this.#invocation.positionals.map(name => resolve(name)),
      env: { PSHUB_REDIS: redis, PSHUB_NAMESPACE: this.#settings.namespace },
      onServing: (tasks, isReload) => this.#onServing(tasks, isReload),
      onBroken: (message, isServing) => this.#onBroken(message, isServing),
      onDied: how => this.#output.err.line(`The worker ended (${how}); restarting it.`),
    })
  }

  async #end(): Promise<void> {
    this.#isEnding = true
    this.#removeFile()
    const { reload, service, redis } = this.#parts
    await reload?.end(this.#settings.graceMs)
    await service?.close()
    redis?.stop(0)
    await redis?.ended
  }

  async #redis(): Promise<string> {
    const { out } = this.#output
    const { redis } = this.#settings
    if (redis !== ownRedis) {
      if (typeof redis !== 'string') throw new ConfigError('pshub dev needs the address of one Redis.')
      out.line('Redis: the one you passed')
      return redis
    }
    const { url, what } = await new Promise<{ url: string; what: string }>((found, failed) => {
      const part = startPart('redis', {}, message => {
        if (message.kind === 'redis') found(message)
        if (message.kind === 'failed') failed(new ConfigError(message.message))
      })
      this.#parts.redis = part
      void part.ended.then(how => {
        if (this.#isEnding) return
        failed(new Error(`Redis could not be started (${how}).`))
        this.#output.err.line(`Redis ended (${how}).`)
        this.#stop(exitCodes.failed)
      })
    })
    out.line(`Redis: ${what}, at ${url}, empty, and deleted when this ends`)
    this.#announce(url)
    return url
  }

  #announce(url: string): void {
    const { out, err } = this.#output
    const variables = `PSHUB_REDIS=${url} PSHUB_NAMESPACE=${this.#settings.namespace}`
    try {
      this.#removeFile = writeDevFile(this.#invocation.host.cwd, url, this.#settings.namespace)
      // A second Ctrl-C ends this process at once.
      process.once('exit', this.#removeFile)
      out.line(`Other pshub commands find it in this folder (${devFile}). Other programs need ${variables}`)
    } catch (error) {
      err.line(`${devFile} could not be written (${messageOf(error)}). Other commands and programs need ${variables}`)
    }
  }

  async #pages(redis: string): Promise<void> {
    const given = settingsOf('registry', devCommand, this.#invocation, 'warn', forPeople)
    const start = async (port: number) => {
      const { startRegistry } = await loadRegistryPackage('The pages are', this.#invocation.host.cwd)
      const { namespace } = this.#settings
      return startRegistry({ ...given, redis, namespace, port, notice: () => this.#broken })
    }
    try {
      this.#parts.service = await start(given.port).catch(error => {
        if (error.code !== 'EADDRINUSE' || this.#invocation.flags.port !== undefined) throw explained(error, given)
        this.#output.out.line(`Port ${given.port} is taken; the pages are at a free one.`)
        return start(0)
      })
      tell(this.#parts.service, given, this.#output)
    } catch (error) {
      if (!(error instanceof ConfigError) || !messageOf(error).includes('which is not installed')) throw error
      this.#output.err.line(`${messageOf(error)} It continues without pages.`)
    }
  }

  #onServing(tasks: string[], isReload: boolean): void {
    const { url } = this.#parts.service ?? {}
    this.#output.out.line(isReload ? 'Reloaded; new calls run the new code:' : 'Serving:')
    for (const task of tasks) this.#output.out.line(url === undefined ? `  ${task}` : `  ${task}  ${url}tasks/${task}`)
  }

  #onBroken(message: string | undefined, isServing: boolean): void {
    const was = this.#broken
    const meanwhile = isServing ? 'The previous code keeps serving.' : 'Nothing is served until they load.'
    this.#broken = message && `The tasks do not load: ${message}\n${meanwhile}`
    const { err } = this.#output
    if (this.#broken !== undefined) err.line(err.paint(['bold', 'red'], this.#broken))
    else if (was !== undefined) err.line('The tasks load again.')
  }
}

export const devCommand: Command = {
  name: 'dev',
  usage: 'dev <module...>',
  summary: 'serve tasks while you edit them, with a Redis and the pages',
  about: [
    'Starts a Redis, the pages of the registry, and a worker for the modules. The worker reloads when a module or a ' +
      'file that it imports changes. The new worker serves before the old one stops: no call fails, and running tasks ' +
      'finish with the old code.',
    'The Redis is the redis-server or valkey-server on the PATH, otherwise the package js-redis-server if installed, ' +
      'in memory only; --redis (or PSHUB_REDIS) chooses another. The pages come from the package pshub-registry.',
    `Its own Redis uses a free port and the namespace ${devNamespace}. Other pshub commands in the same folder use ` +
      `it through ${devFile} while this runs. Flags, environment variables and a settings file take precedence.`,
    'If a module does not load, the error appears here and on every page until it is fixed; the previous code keeps ' +
      'serving. Ctrl-C stops everything.',
  ],
  arity: { min: 1, max: Number.POSITIVE_INFINITY, missing: 'a module that exports tasks, as in: pshub dev tasks.mjs' },
  options: [
    {
      flag: 'port',
      value: 'n',
      about: 'port of the pages; by default a free one if it is taken',
      setting: 'port',
    },
    { flag: 'queue', value: 'name', isList: true, about: 'queue to serve', setting: 'queue', fallback: "'default'" },
    { flag: 'slots', value: 'n', about: 'requests to run at once', setting: 'slots' },
    {
      flag: 'grace',
      value: 'time',
      about: 'grace period of running tasks when it stops',
      setting: 'graceMs',
      isDuration: true,
      fallback: '10s',
    },
    {
      flag: 'log-level',
      value: 'level',
      about: 'debug, info, warn, error or silent',
      setting: 'logLevel',
      fallback: 'info',
    },
    {
      flag: 'log-format',
      value: 'format',
      about: 'pretty, json, or auto: json unless on a terminal',
      setting: 'logFormat',
      fallback: "'pretty'",
    },
    {
      flag: 'redis',
      value: 'url',
      about: 'Redis to use, redis:// or rediss://',
      setting: 'redis',
      fallback: 'its own',
    },
    {
      flag: 'namespace',
      value: 'name',
      about: 'prefix of all keys',
      setting: 'namespace',
      fallback: `${devNamespace}, with --redis ${settingsTable.namespace.fallback}`,
    },
  ],
  examples: [
    { line: 'pshub dev tasks.mjs', about: 'open the printed address, and edit' },
    { line: 'pshub dev tasks.mjs --redis redis://127.0.0.1:6379', about: 'with a Redis of your own' },
  ],
  exitCodes: {
    0: 'stopped by Ctrl-C or SIGTERM',
    1: 'it failed, or its Redis stopped',
    2: 'the command line, a setting or an address is wrong, or there is no Redis',
    130: 'stopped at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
