import type { ForwarderOptions } from '../forward/forwarder.ts'
import { isForwarderName } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { parseDuration } from './duration.ts'
import { backoffOf, retriesOf } from './enqueue-flags.ts'
import { exitCodes } from './exit-codes.ts'
import { watchFaults } from './faults.ts'
import { targetFlags, targetOf } from './forward-target.ts'
import { lookLines } from './look-text.ts'
import { servingOptions } from './options.ts'
import { serve } from './serve.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const [name, module] = invocation.positionals as [string, string?]
  if (!isForwarderName(name))
    throw wrong(`The name of a forwarder is 1 to 56 letters, digits, and _ . -; it is '${name}'.`)
  const how = optionsOf(invocation.flags)
  const { Forwarder, forwarderDefaults } = await import('../forward/forwarder.ts')
  const settings = settingsOf('worker', forwardCommand, invocation, 'info', forwarderDefaults)
  const { queue: _, jobSlots: __, ...own } = settings
  const { makeLogger } = await import('../outlets/log.ts')
  const log = makeLogger(settings)
  let onFatal = (): void => process.exit(exitCodes.failed)
  const endOfFaults = watchFaults(
    log,
    () => onFatal(),
    async () => undefined,
  )
  const target = await targetOf(invocation, module).catch(error => {
    endOfFaults()
    throw error
  })
  const forwarder = new Forwarder({ ...own, ...how, name, target })
  process.on('SIGTTIN', () => process.stderr.write(`${forwarder.look().flatMap(lookLines).join('\n')}\n`))
  return serve(forwarder, settings, log, listener => {
    onFatal = listener
  })
}

const wrong = (message: string): UsageError => new UsageError(message, 'forward')

const optionsOf = ({ batch, wait, timeout, retries, backoff }: Invocation['flags']): Partial<ForwarderOptions> => ({
  batch: batch === undefined ? undefined : countOf(batch, '--batch'),
  waitMs: wait === undefined ? undefined : parseDuration(wait, '--wait'),
  timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, '--timeout'),
  retries: retries === undefined ? undefined : retriesOf(retries, 'forward'),
  backoff: backoff === undefined ? undefined : backoffOf(backoff, 'forward'),
})

const countOf = (text: string, flag: string): number => {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw wrong(`${flag} must be a whole number of at least 1; it is '${text}'.`)
}

export const forwardCommand: Command = {
  name: 'forward',
  usage: 'forward <name> [module]',
  summary: 'deliver jobs to a webhook, Redis, RabbitMQ or another target',
  about: [
    'Takes jobs that were enqueued with `forward: <name>` (pshub enqueue --forward) and delivers them to a target, ' +
      'at least once. A job is done when the target confirms it. Otherwise it is retried later, and is dead when its ' +
      'retries are used up (pshub dead --queue forward.<name>).',
    '--to chooses the target: https:// posts each job, signed (Standard Webhooks); redis:// with --list, --stream or ' +
      '--hub adds them to a list, a stream or another hub; amqp:// publishes them (RabbitMQ; needs the package ' +
      'amqplib). Instead of --to you can pass a module whose default export, or `target`, is an object with a method ' +
      'forward(batch, signal).',
    'Other users can read a command line. Put a URL with a password into PSHUB_FORWARD_TO, the secret that signs ' +
      'webhooks into PSHUB_FORWARD_SECRET or a file, and headers into a file.',
    'You can run several forwarders of one name. Ctrl-C or SIGTERM stops it gracefully: jobs in flight may be ' +
      'confirmed within the grace period, the rest returns to the queue.',
  ],
  arity: {
    min: 1,
    max: 2,
    missing: 'the name of the forwarder, as in: pshub forward billing --to https://example.com/hooks',
  },
  options: [
    ...targetFlags,
    { flag: 'slots', value: 'n', about: 'jobs in flight at once', setting: 'slots', fallback: '32' },
    {
      flag: 'batch',
      value: 'n',
      about: 'maximum of jobs per batch',
      fallback: "the target's, else the slots",
    },
    { flag: 'wait', value: 'time', about: 'how long the first job of a batch waits for others', fallback: '10ms' },
    {
      flag: 'timeout',
      value: 'time',
      about: 'how long the target may take to confirm',
      fallback: '30s',
    },
    { flag: 'retries', value: 'n', about: 'how often a job without retries of its own is retried', fallback: '25' },
    {
      flag: 'backoff',
      value: 'kind',
      about: 'wait before a retry: exponential, polynomial, a time, or times with commas',
      fallback: 'exponential',
    },
    ...servingOptions('jobs in flight').filter(({ setting }) => setting !== 'maxBacklog'),
  ],
  examples: [
    {
      line: 'PSHUB_FORWARD_SECRET=whsec_... pshub forward billing --to https://example.com/hooks',
      about: 'a signed webhook for each job',
    },
    { line: 'pshub forward events --to redis://other:6379 --stream events --max-length 100000', about: 'a stream' },
    { line: 'pshub forward far --to redis://other:6379 --hub pshub', about: 'another hub' },
    { line: 'pshub forward orders --to amqp://rabbit --exchange orders --routing-key paid', about: 'RabbitMQ' },
    { line: 'pshub forward kafka ./kafka.mjs', about: 'a target of your own' },
  ],
  exitCodes: {
    0: 'stopped gracefully',
    1: 'the module failed while loading, or an exception was not caught',
    2: 'the command line, a setting, or a Redis that cannot keep the promises',
    130: 'stopped at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
