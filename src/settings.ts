import { hostname } from 'node:os'
import { isNamespace, isQueueName } from './keys.ts'
import { type RegistrySettings, registryTable } from './registrysettings.ts'
import { integerIn, isSwitch, number, oneOf, type Setting, switched, text } from './settingkinds.ts'
import { parseStatsdAddress } from './statsdaddress.ts'
import { checkTarget, type RedisTarget } from './target.ts'

/** Every setting there is. The table below says who uses it. */
export interface Settings extends RegistrySettings {
  /** Redis URL, or ioredis options. Default redis://127.0.0.1:6379. */
  redis: RedisTarget
  /** Prefix of every key. Default pshub. */
  namespace: string
  /** Name of the calling service, shown to workers. Default the host's name. */
  name: string
  /** The worker's queue. Default 'default'. */
  queue: string
  /** Requests a worker runs at once, 1 to 256. Default 4. */
  slots: number
  /** How many of them may run jobs, which only get what calls leave idle. 0: this worker takes none. Default half, rounded up. */
  jobSlots: number | undefined
  /** Largest arguments or result, in bytes of JSON. Default 1 MiB. */
  maxPayloadBytes: number
  /** Longest backlog a hub pushes to. Default 10000. */
  maxBacklog: number
  /** What the worker has when its process is told to stop, to finish what runs. Default 10000. */
  graceMs: number
  /** How long a worker that stopped beating keeps what it holds. Default 4000. */
  leaseMs: number
  /**
   * A handler that blocks the event loop keeps the worker's lease for this long; after it the worker counts as dead and
   * others take over. 0: the lease ends as if the process had died. Default 60000.
   */
  maxBlockedMs: number
  /** StatsD daemon: host:port or udp://host:port, tcp://host:port, unix:///path (datagrams). Default none. */
  statsd: string | undefined
  /** What names of metrics begin with. Default 'pshub.'. */
  statsdPrefix: string
  /** `tags` as DogStatsD has them, or `graphite`: their values become parts of the name. Default tags. */
  statsdFormat: 'tags' | 'graphite'
  /** Part of the timings that is sent, above 0 up to 1; counters are always exact. Default 1. */
  statsdSampleRate: number
  /** How often metrics are sent, in milliseconds. Default 500. */
  statsdFlushMs: number
  /** What is logged on stderr: debug, info, warn, error or silent. Default warn; info for `pshub worker`. */
  logLevel: string
  /** Spans of OpenTelemetry, where its API is installed: calls carry the trace context anyway. Default true. */
  tracing: boolean
  /** Lines of `json`, or `pretty` ones for people; `auto` is pretty on a terminal. Default auto. */
  logFormat: 'auto' | 'json' | 'pretty'
}

/** Those about metrics, logs and traces, which a hub inside a worker takes over. */
export const measuringSettings = [
  'statsd',
  'statsdPrefix',
  'statsdFormat',
  'statsdSampleRate',
  'statsdFlushMs',
  'logLevel',
  'logFormat',
  'tracing',
] as const satisfies (keyof Settings)[]
export type MeasuringSetting = (typeof measuringSettings)[number]

/** The one schema of all settings. Precedence: option or flag, environment, file, default. */
export const settingsTable: { [K in keyof Settings]: Setting<Settings[K]> } = {
  redis: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_REDIS',
    fallback: 'redis://127.0.0.1:6379',
    parse: text,
    check: value => {
      checkTarget(value)
      return undefined
    },
  },
  namespace: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_NAMESPACE',
    fallback: 'pshub',
    parse: text,
    check: value => (isNamespace(value) ? undefined : 'must be 1 to 32 letters, digits, and _ . -'),
  },
  name: {
    users: ['hub', 'worker', 'cli'],
    env: 'PSHUB_NAME',
    fallback: () => hostname().slice(0, 64),
    parse: text,
    check: value =>
      typeof value === 'string' && value.length > 0 && value.length <= 64
        ? undefined
        : 'must be a text of 1 to 64 characters',
  },
  queue: {
    users: ['worker', 'cli'],
    env: 'PSHUB_QUEUE',
    fallback: 'default',
    parse: text,
    check: value => (isQueueName(value) ? undefined : 'must be 1 to 64 letters, digits, and _ . -'),
  },
  slots: { users: ['worker', 'cli'], env: 'PSHUB_SLOTS', fallback: 4, parse: number, check: integerIn(1, 256) },
  jobSlots: {
    users: ['worker', 'cli'],
    env: 'PSHUB_JOB_SLOTS',
    fallback: undefined,
    parse: number,
    check: value => (value === undefined ? undefined : integerIn(0, 256)(value)),
  },
  maxPayloadBytes: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_MAX_PAYLOAD_BYTES',
    fallback: 1024 * 1024,
    parse: number,
    check: integerIn(1024, 64 * 1024 * 1024),
  },
  maxBacklog: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_MAX_BACKLOG',
    fallback: 10_000,
    parse: number,
    check: integerIn(1, 10_000_000),
  },
  graceMs: {
    users: ['worker', 'cli'],
    env: 'PSHUB_GRACE_MS',
    fallback: 10_000,
    parse: number,
    check: integerIn(0, 3_600_000),
  },
  leaseMs: {
    users: ['worker', 'cli'],
    env: 'PSHUB_LEASE_MS',
    fallback: 4000,
    parse: number,
    // A beat is sent every second; with less, one that is late would pass for a death.
    check: integerIn(2000, 600_000),
  },
  maxBlockedMs: {
    users: ['worker', 'cli'],
    env: 'PSHUB_MAX_BLOCKED_MS',
    fallback: 60_000,
    parse: number,
    check: integerIn(0, 3_600_000),
  },
  statsd: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_STATSD',
    fallback: undefined,
    parse: text,
    check: value =>
      value === undefined || (typeof value === 'string' && parseStatsdAddress(value))
        ? undefined
        : 'must be host:port, udp://host:port, tcp://host:port or unix:///path',
  },
  statsdPrefix: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_STATSD_PREFIX',
    fallback: 'pshub.',
    parse: text,
    check: value =>
      typeof value === 'string' && /^[A-Za-z0-9_.-]{0,64}$/.test(value)
        ? undefined
        : 'must be up to 64 letters, digits, and _ . -',
  },
  statsdFormat: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_STATSD_FORMAT',
    fallback: 'tags',
    parse: text,
    check: oneOf('tags', 'graphite'),
  },
  statsdSampleRate: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_STATSD_SAMPLE_RATE',
    fallback: 1,
    parse: number,
    check: value =>
      typeof value === 'number' && value > 0 && value <= 1 ? undefined : 'must be a number above 0, and up to 1',
  },
  statsdFlushMs: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_STATSD_FLUSH_MS',
    fallback: 500,
    parse: number,
    check: integerIn(10, 60_000),
  },
  logLevel: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_LOG_LEVEL',
    fallback: 'warn',
    parse: text,
    check: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  logFormat: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_LOG_FORMAT',
    fallback: 'auto',
    parse: text,
    check: oneOf('auto', 'json', 'pretty'),
  },
  tracing: {
    users: ['hub', 'worker', 'cli', 'registry'],
    env: 'PSHUB_TRACING',
    fallback: true,
    parse: switched,
    check: isSwitch,
  },
  ...registryTable,
}
