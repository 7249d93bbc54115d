import { integerIn, isSwitch, list, listOf, number, type Setting, switched, text } from './settingkinds.ts'

/** What the registry's service is set up with, besides what every user of Redis is. */
export interface RegistrySettings {
  /** Address it binds. Default 127.0.0.1: this machine only. */
  host: string
  /** Default 7421; 0 takes a free one. */
  port: number
  /** Where its pages begin, as in /registry. Default /. */
  basePath: string
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
  /** A proxy in front of it says in X-Forwarded-Host and X-Forwarded-Proto what the browser asked for. Default false. */
  behindProxy: boolean
  /** Tasks that may be run: names, in which * stands for any characters. Default all. */
  runTasks: readonly string[]
  /** Longest arguments that are taken, bytes; at most `maxPayloadBytes`. Default 256 KiB. */
  maxBodyBytes: number
  /** Runs that one session or token may start in a second. Default 10. */
  maxRunsPerSecond: number
}

const token: Omit<Setting<string | undefined>, 'env'> = {
  users: ['registry'],
  fallback: undefined,
  parse: text,
  check: value =>
    value === undefined || (typeof value === 'string' && /^[\x21-\x7e]{16,512}$/.test(value))
      ? undefined
      : 'must have 16 to 512 characters, without spaces; `openssl rand -base64 24` makes one',
  isSecret: true,
}

export const registryTable: { [K in keyof RegistrySettings]: Setting<RegistrySettings[K]> } = {
  host: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_HOST',
    fallback: '127.0.0.1',
    parse: text,
    check: value =>
      typeof value === 'string' && /^[A-Za-z0-9_.:-]{1,255}$/.test(value) ? undefined : 'must be an address or a name',
  },
  port: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_PORT',
    fallback: 7421,
    parse: number,
    check: integerIn(0, 65_535),
  },
  basePath: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_BASE_PATH',
    fallback: '/',
    parse: text,
    check: value =>
      typeof value === 'string' && /^(\/[A-Za-z0-9_.~-]+)*\/?$/.test(value) && value.startsWith('/')
        ? undefined
        : 'must be a path like /registry',
  },
  viewToken: { ...token, env: 'PSHUB_REGISTRY_VIEW_TOKEN' },
  runToken: { ...token, env: 'PSHUB_REGISTRY_RUN_TOKEN' },
  adminToken: { ...token, env: 'PSHUB_REGISTRY_ADMIN_TOKEN' },
  readOnly: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_READ_ONLY',
    fallback: false,
    parse: switched,
    check: isSwitch,
  },
  allowedHosts: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_ALLOWED_HOSTS',
    fallback: [],
    parse: list,
    check: listOf(
      /^[A-Za-z0-9_.:[\]-]{1,255}$/,
      'must be names of hosts with commas in between, a list in code and files',
    ),
  },
  behindProxy: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_BEHIND_PROXY',
    fallback: false,
    parse: switched,
    check: isSwitch,
  },
  runTasks: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_RUN_TASKS',
    fallback: ['*'],
    parse: list,
    check: listOf(
      /^[A-Za-z0-9_./:*-]{1,120}$/,
      'must be names of tasks like mail/*:1.0 with commas in between, a list in code and files',
    ),
  },
  maxBodyBytes: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_MAX_BODY_BYTES',
    fallback: 256 * 1024,
    parse: number,
    check: integerIn(1024, 64 * 1024 * 1024),
  },
  maxRunsPerSecond: {
    users: ['registry'],
    env: 'PSHUB_REGISTRY_MAX_RUNS_PER_SECOND',
    fallback: 10,
    parse: number,
    check: integerIn(1, 1_000_000),
  },
}
