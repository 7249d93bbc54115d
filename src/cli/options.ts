import type { Option } from './command.ts'

/** Every command has these. */
export const commonOptions: Option[] = [
  { flag: 'redis', value: 'url', about: 'Redis to use, redis:// or rediss://', setting: 'redis' },
  { flag: 'namespace', value: 'name', about: 'prefix of all keys', setting: 'namespace' },
  { flag: 'config', value: 'file', about: 'JSON file of settings, by their names in code' },
  { flag: 'debug', about: 'show stacks of errors' },
  { flag: 'help', short: 'h', about: 'show this help' },
]

export const jsonOption: Option = { flag: 'json', about: 'print JSON for programs, also of an error (on stderr)' }

/** Of the commands that call: `call` itself, and a worker whose tasks call others. */
export const callerOptions: Option[] = [
  { flag: 'max-payload-bytes', value: 'n', about: 'largest arguments or result, as JSON', setting: 'maxPayloadBytes' },
  { flag: 'max-backlog', value: 'n', about: 'refuse calls to a queue longer than this', setting: 'maxBacklog' },
  { flag: 'statsd', value: 'host:port', about: 'StatsD daemon for metrics', setting: 'statsd' },
  { flag: 'log-level', value: 'level', about: 'debug, info, warn, error or silent', setting: 'logLevel' },
  {
    flag: 'tracing',
    value: 'on|off',
    about: 'spans of OpenTelemetry, where it is installed',
    setting: 'tracing',
    fallback: 'on',
  },
]
