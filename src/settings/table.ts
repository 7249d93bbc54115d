import { hostname } from 'node:os'
import { type RedisTarget, wrongTarget } from '../redis/target.ts'
import type { Bigints } from '../wire/json/numbers.ts'
import { isNamespace } from '../wire/keys.ts'
import { isBuild } from '../wire/names.ts'
import { type AccessRules, accessRules, taskPattern } from './access-rules.ts'
import { environmentColours, parseEnvironment } from './environment.ts'
import { integer, isNetwork, type Kind, list, number, oneOf, onOrOff, text } from './kinds.ts'
import { defaultQueue, readQueues } from './queues.ts'
import { parseStatsdAddress } from './statsd-address.ts'

/** Every setting there is. The table below says who uses it. */
export interface Settings {
  /** Redis URL, or ioredis options. Default redis://127.0.0.1:6379. */
  redis: RedisTarget
  /** Prefix of every key. Default pshub. */
  namespace: string
  /** Name of the calling service, shown to workers. Default the host's name. */
  name: string
  /**
   * The worker's queue, or several: `name` or `name:weight` in a list, or in a text with commas in between. Without weights the first one
   * that has work goes first; with them it is drawn for each claim. `*`: all there are, and those to come. Default 'default'.
   */
  queue: string | readonly string[]
  /** Requests a worker runs at once, 1 to 256. Default 4. */
  slots: number
  /** How many of them may run jobs, which only get what calls leave idle. 0: this worker takes none. Default half, rounded up. */
  jobSlots: number | undefined
  /** Largest arguments or result, in bytes of JSON. Default 1 MiB. */
  maxPayloadBytes: number
  /**
   * What an integer beyond 2^53 - 1 is to handlers and callers, who would get another number: `reject`, an error; `bigint`, a BigInt; `number`,
   * rounded; `exact`, an ExactNumber, as each number that JavaScript would write otherwise. Default reject.
   */
  bigint: Bigints
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
  /**
   * Where the worker answers probes over HTTP, on all addresses of its host: /livez, whether its event loop turns, and /readyz, whether it
   * holds its lease. 0 takes a free port, which the log names. Default none.
   */
  healthPort: number | undefined
  /**
   * Which build of the program the worker runs, as a git commit or the tag of an image: 1 to 64 characters. It is shown with the worker, and a new one
   * is a deploy in the registry's charts. Default none.
   */
  build: string | undefined
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

  // What the registry's service is set up with, besides what every user of Redis is.

  /** Address it binds. Default 127.0.0.1: this machine only. */
  host: string
  /** Default 7421; 0 takes a free one. */
  port: number
  /** Where its pages begin, as in /registry. Default /. */
  basePath: string
  /**
   * What is worked on here, shown on each page and in its title: a name as `production` or `staging:orange`. Without a colour one that begins with
   * `prod` is red, any other blue. Default none.
   */
  environment: string | undefined
  /** Who has it may look. Tokens have at least 16 characters. Default none. */
  viewToken: string | undefined
  /** The same, for who may run tasks too. */
  runToken: string | undefined
  /** The same, for who may do all that can be done here. */
  adminToken: string | undefined
  /** Nobody may run or change anything. Default false. */
  readOnly: boolean
  /** Names of hosts it answers to, besides 127.0.0.1, localhost, [::1] and `host`. */
  allowedHosts: readonly string[]
  /**
   * Addresses of the proxies in front of it, single ones or as in 10.0.0.0/8: only theirs are believed in X-Forwarded-Host, -Proto and -For, which
   * say what was asked for and by whom. Default none.
   */
  behindProxy: readonly string[]
  /** Which header of the proxies names who asks, as in X-Forwarded-User; theirs alone is believed. Default none. */
  userHeader: string | undefined
  /** The header that names the groups of who asks, with commas in between. Default none. */
  groupsHeader: string | undefined
  /** The provider at which people log in by OpenID Connect: the https address that it calls itself. Default none. */
  oidcIssuer: string | undefined
  /** What the provider knows the registry by. */
  oidcClientId: string | undefined
  /** The same; at least 16 characters. */
  oidcClientSecret: string | undefined
  /** What is asked of the provider. Default openid, email and profile. */
  oidcScopes: readonly string[]
  /** Which of the provider's claims names a user. Default email, which the provider must have verified. */
  oidcUserClaim: string
  /** Which of them lists the groups. Default groups. */
  oidcGroupsClaim: string
  /** Who may do what, by users, groups, roles and tokens; as a flag the path of a JSON file. Default: roles alone count. */
  access: AccessRules | undefined
  /**
   * What is hidden of arguments and results of jobs: `secrets`, the fields that their schemas mark as such, or `all`. Whoever may change jobs
   * can have them shown, one by one. Default secrets.
   */
  hideValues: 'secrets' | 'all'
  /** Tasks that may be run: names, in which * stands for any characters. Default all. */
  runTasks: readonly string[]
  /** Longest arguments that are taken, bytes; at most `maxPayloadBytes`. Default 256 KiB. */
  maxBodyBytes: number
  /** Runs that one session or token may start in a second. Default 10. */
  maxRunsPerSecond: number
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

export type SettingsUser = 'hub' | 'worker' | 'registry'

/** One setting: who uses it, what it is when nobody says, and which values are right. */
export interface Setting<T> extends Kind {
  users: readonly SettingsUser[]
  fallback: T | (() => T)
  /** Messages do not show it. */
  isSecret?: true
}

const all = ['hub', 'worker', 'registry'] as const
const worker = ['worker'] as const
const registry = ['registry'] as const

const target: Kind = { parse: url => url, check: wrongTarget }
const payload = integer(1024, 64 * 1024 * 1024)
const queues: Kind = {
  parse: text => text,
  check: value =>
    readQueues(value)
      ? undefined
      : 'must be names of queues, each once and 1 to 64 letters, digits, and _ . -, or * for all there are; each may have a weight from 1 to 1000, as in high:3',
}
const upToAnHour = integer(0, 3_600_000)
const statsdAddress = text(parseStatsdAddress, 'must be host:port, udp://host:port, tcp://host:port or unix:///path')
const metricPrefix = text(/^[A-Za-z0-9_.-]{0,64}$/, 'must be up to 64 letters, digits, and _ . -')
const sampleRate = number(value => value > 0 && value <= 1, 'must be a number above 0, and up to 1')
const hosts = list(
  /^[A-Za-z0-9_.:[\]-]{1,255}$/,
  'must be names of hosts with commas in between, a list in code and files',
)
const proxies = list(
  isNetwork,
  'must be the addresses of the proxies, as in 10.0.0.0/8,::1 with commas in between, a list in code and files',
)
const header = text(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header, as in X-Forwarded-User')
const claim = text(/^[\x21-\x7e]{1,128}$/, 'must be the name of a claim, as in email')
const issuer = text(
  value => /^(https:|http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/])/.test(value) && URL.canParse(value),
  'must be the https address of a provider',
)
const tasks = list(
  taskPattern,
  'must be names of tasks like mail/*:1.0 with commas in between, a list in code and files',
)
const token: Setting<string | undefined> = {
  users: registry,
  fallback: undefined,
  isSecret: true,
  ...text(
    /^[\x21-\x7e]{16,512}$/,
    'must have 16 to 512 characters, without spaces; `openssl rand -base64 24` makes one',
  ),
}

/** The one schema of all settings. Precedence: option or flag, environment, file, default. */
export const settingsTable: { [K in keyof Settings]: Setting<Settings[K]> } = {
  redis: { users: all, fallback: 'redis://127.0.0.1:6379', isSecret: true, ...target },
  namespace: { users: all, fallback: 'pshub', ...text(isNamespace, 'must be 1 to 32 letters, digits, and _ . -') },
  name: {
    users: ['hub', 'worker'],
    fallback: () => hostname().slice(0, 64),
    ...text(/^.{1,64}$/s, 'must be a string of 1 to 64 characters'),
  },
  queue: { users: worker, fallback: defaultQueue, ...queues },
  slots: { users: worker, fallback: 4, ...integer(1, 256) },
  jobSlots: { users: worker, fallback: undefined, ...integer(0, 256) },
  maxPayloadBytes: { users: all, fallback: 1024 * 1024, ...payload },
  bigint: { users: ['hub', 'worker'], fallback: 'reject', ...oneOf('reject', 'number', 'bigint', 'exact') },
  maxBacklog: { users: all, fallback: 10_000, ...integer(1, 10_000_000) },
  graceMs: { users: worker, fallback: 10_000, ...upToAnHour },
  // A beat is sent every second; with less, one that is late would pass for a death.
  leaseMs: { users: worker, fallback: 4000, ...integer(2000, 600_000) },
  maxBlockedMs: { users: worker, fallback: 60_000, ...upToAnHour },
  healthPort: { users: worker, fallback: undefined, ...integer(0, 65_535) },
  build: {
    users: worker,
    fallback: undefined,
    ...text(isBuild, 'must be a string of 1 to 64 characters without control characters'),
  },
  statsd: { users: all, fallback: undefined, ...statsdAddress },
  statsdPrefix: { users: all, fallback: 'pshub.', ...metricPrefix },
  statsdFormat: { users: all, fallback: 'tags', ...oneOf('tags', 'graphite') },
  statsdSampleRate: { users: all, fallback: 1, ...sampleRate },
  statsdFlushMs: { users: all, fallback: 500, ...integer(10, 60_000) },
  logLevel: { users: all, fallback: 'warn', ...oneOf('debug', 'info', 'warn', 'error', 'silent') },
  logFormat: { users: all, fallback: 'auto', ...oneOf('auto', 'json', 'pretty') },
  tracing: { users: all, fallback: true, ...onOrOff },
  host: { users: registry, fallback: '127.0.0.1', ...text(/^[A-Za-z0-9_.:-]{1,255}$/, 'must be an address or a name') },
  port: { users: registry, fallback: 7421, ...integer(0, 65_535) },
  basePath: {
    users: registry,
    fallback: '/',
    ...text(/^(?!$)(\/[A-Za-z0-9_.~-]+)*\/?$/, 'must be a path like /registry'),
  },
  environment: {
    users: registry,
    fallback: undefined,
    ...text(
      parseEnvironment,
      `must be a name of 1 to 32 characters, and may have a colour behind it, one of ${environmentColours.join(', ')}, as in staging:orange`,
    ),
  },
  viewToken: token,
  runToken: token,
  adminToken: token,
  readOnly: { users: registry, fallback: false, ...onOrOff },
  allowedHosts: { users: registry, fallback: [], ...hosts },
  behindProxy: { users: registry, fallback: [], ...proxies },
  userHeader: { users: registry, fallback: undefined, ...header },
  groupsHeader: { users: registry, fallback: undefined, ...header },
  oidcIssuer: { users: registry, fallback: undefined, ...issuer },
  oidcClientId: {
    users: registry,
    fallback: undefined,
    ...text(/^[\x21-\x7e]{1,256}$/, 'must be up to 256 characters without spaces'),
  },
  oidcClientSecret: token,
  oidcScopes: {
    users: registry,
    fallback: ['openid', 'email', 'profile'],
    ...list(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be names of scopes with commas in between, a list in code'),
  },
  oidcUserClaim: { users: registry, fallback: 'email', ...claim },
  oidcGroupsClaim: { users: registry, fallback: 'groups', ...claim },
  access: { users: registry, fallback: undefined, ...accessRules },
  hideValues: { users: registry, fallback: 'secrets', ...oneOf('secrets', 'all') },
  runTasks: { users: registry, fallback: ['*'], ...tasks },
  maxBodyBytes: { users: registry, fallback: 256 * 1024, ...payload },
  maxRunsPerSecond: { users: registry, fallback: 10, ...integer(1, 1_000_000) },
}
