import type { Option } from './command.ts'

/** Every command has these. */
export const commonOptions: Option[] = [
  { flag: 'redis', value: 'url', about: 'Redis to use, redis:// or rediss://', setting: 'redis' },
  { flag: 'namespace', value: 'name', about: 'prefix of all keys', setting: 'namespace' },
  { flag: 'config', value: 'file', about: 'JSON file of settings, by their names in code' },
  { flag: 'debug', about: 'show stacks of errors' },
  { flag: 'help', short: 'h', about: 'show this help' },
]

export const jsonOption: Option = { flag: 'json', about: 'print JSON, also for an error (on stderr)' }

/** Of the commands that call: `call` itself, and a worker whose tasks call others. */
export const callerOptions: Option[] = [
  { flag: 'max-payload-bytes', value: 'n', about: 'largest arguments or result, as JSON', setting: 'maxPayloadBytes' },
  { flag: 'max-backlog', value: 'n', about: 'reject calls to a queue longer than this', setting: 'maxBacklog' },
  {
    flag: 'statsd',
    value: 'address',
    about: 'StatsD daemon: host:port, udp://, tcp:// or unix:///path',
    setting: 'statsd',
  },
  { flag: 'statsd-prefix', value: 'text', about: 'prefix of metric names', setting: 'statsdPrefix' },
  { flag: 'statsd-format', value: 'format', about: 'tags (DogStatsD) or graphite', setting: 'statsdFormat' },
  { flag: 'statsd-sample-rate', value: 'rate', about: 'share of timings to send, 0 to 1', setting: 'statsdSampleRate' },
  {
    flag: 'statsd-flush',
    value: 'time',
    about: 'how often metrics are sent',
    setting: 'statsdFlushMs',
    isDuration: true,
    fallback: '500ms',
  },
  { flag: 'log-level', value: 'level', about: 'debug, info, warn, error or silent', setting: 'logLevel' },
  {
    flag: 'tracing',
    value: 'on|off',
    about: 'OpenTelemetry spans, if it is installed',
    setting: 'tracing',
    fallback: 'on',
  },
  { flag: 'log-format', value: 'format', about: 'json, pretty, or auto: pretty on a terminal', setting: 'logFormat' },
]

export const callerOptionsWith = (logLevel: string): Option[] =>
  callerOptions.map(option => (option.setting === 'logLevel' ? { ...option, fallback: logLevel } : option))

export const nameOption: Option = {
  flag: 'name',
  value: 'name',
  about: 'name of the caller that the task sees',
  setting: 'name',
  fallback: 'the host',
}

/** Of the commands that serve until they are told to stop, which their log alone tells of; `held`: what the grace is for. */
export const servingOptions = (held: string): Option[] => [
  {
    flag: 'grace',
    value: 'time',
    about: `grace period for ${held} when it stops`,
    setting: 'graceMs',
    isDuration: true,
    fallback: '10s',
  },
  {
    flag: 'lease',
    value: 'time',
    about: 'lease: others take over after this long without a heartbeat',
    setting: 'leaseMs',
    isDuration: true,
    fallback: '4s',
  },
  {
    flag: 'health-port',
    value: 'port',
    about: 'port that answers probes: /livez and /readyz',
    setting: 'healthPort',
    fallback: 'none',
  },
  {
    flag: 'build',
    value: 'text',
    about: 'build of your program, shown with the worker: a git commit or an image tag',
    setting: 'build',
    fallback: 'none',
  },
  {
    flag: 'bigint',
    value: 'how',
    about: 'integers beyond 2^53 for handlers: reject, number (rounded) or bigint',
    setting: 'bigint',
  },
  ...callerOptionsWith('info'),
]
