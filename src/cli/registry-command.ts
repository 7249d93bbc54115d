import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import { callerOptions } from './options.ts'
import { loadRegistryPackage } from './registry-package.ts'
import { explained, tell } from './registry-service.ts'
import { onStopSignals } from './stop-signals.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const settings = settingsOf('registry', registryCommand, invocation, 'info')
  const { startRegistry } = await loadRegistryPackage('The pages are', invocation.host.cwd)
  let stop = (): void => undefined
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })
  const endOfSignals = onStopSignals(stop, signal => process.exit(signalCodes[signal]))
  try {
    const running = await startRegistry(settings).catch(error => {
      throw explained(error, settings)
    })
    tell(running, settings, invocation.output)
    await stopped
    await running.close()
    return exitCodes.ok
  } finally {
    endOfSignals()
  }
}

export const registryCommand: Command = {
  name: 'registry',
  usage: 'registry',
  summary: 'serve the web pages and the HTTP API of the registry',
  about: [
    'It is the package pshub-registry, which is installed beside pshub: npm install pshub-registry.',
    'Serves pages that show tasks, workers and queues live and run tasks from forms, and an HTTP API: ' +
      'POST /api/call/<task> calls one, /openapi.json describes them all, /metrics is for Prometheus, /healthz for probes.',
    'Who comes needs a token: that of view may look, that of run may run tasks too, that of admin may do everything. ' +
      'Programs send it as a bearer token, people log in with it. Without any, one for an admin is made and printed as part of ' +
      'the address. Set tokens in the environment or the file: flags are seen by whoever lists processes.',
    'Only this machine can reach it, unless --host says otherwise. While Redis is away the pages say so. Every run is logged ' +
      'on stderr: who, what, how it ended, and never the arguments. Ctrl-C or SIGTERM end it.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'host', value: 'address', about: 'address to bind', setting: 'host' },
    { flag: 'port', value: 'n', about: '0 takes a free one', setting: 'port' },
    { flag: 'base-path', value: 'path', about: 'where the pages begin, as in /registry', setting: 'basePath' },
    {
      flag: 'environment',
      value: 'name',
      about: 'what is worked on, on each page: production, or with a colour staging:orange',
      setting: 'environment',
      fallback: 'none',
    },
    { flag: 'view-token', value: 'token', about: 'who has it may look', setting: 'viewToken' },
    { flag: 'run-token', value: 'token', about: 'who has it may run tasks too', setting: 'runToken' },
    { flag: 'admin-token', value: 'token', about: 'who has it may do everything', setting: 'adminToken' },
    { flag: 'read-only', about: 'nobody may run or change anything', setting: 'readOnly', fallback: 'off' },
    {
      flag: 'run-tasks',
      value: 'names',
      about: 'tasks that may be run, as in mail/*,add:1.0',
      setting: 'runTasks',
      fallback: 'all',
    },
    {
      flag: 'allowed-hosts',
      value: 'names',
      about: 'names it answers to, besides those of this machine',
      setting: 'allowedHosts',
      fallback: 'none',
    },
    {
      flag: 'behind-proxy',
      value: 'addresses',
      about: 'proxies that say in X-Forwarded-Host, -Proto and -For what was asked for, as in 10.0.0.0/8,::1',
      setting: 'behindProxy',
      fallback: 'none',
    },
    {
      flag: 'access',
      value: 'file',
      about: 'JSON file of who may do what: roles of users and groups, and tasks of everybody',
      setting: 'access',
      fallback: 'roles alone count',
    },
    {
      flag: 'hide-values',
      value: 'what',
      about: 'hide of arguments and results of jobs what is secret, or all',
      setting: 'hideValues',
    },
    {
      flag: 'user-header',
      value: 'name',
      about: 'header of the proxies that names who asks, as in X-Forwarded-User',
      setting: 'userHeader',
      fallback: 'none',
    },
    {
      flag: 'groups-header',
      value: 'name',
      about: 'header that names their groups, as in X-Forwarded-Groups',
      setting: 'groupsHeader',
      fallback: 'none',
    },
    {
      flag: 'oidc-issuer',
      value: 'address',
      about: 'provider of OpenID Connect at which people log in',
      setting: 'oidcIssuer',
      fallback: 'none',
    },
    { flag: 'oidc-client-id', value: 'id', about: 'what it knows the registry by', setting: 'oidcClientId' },
    {
      flag: 'oidc-client-secret',
      value: 'secret',
      about: 'the same; better set in the environment or the file',
      setting: 'oidcClientSecret',
    },
    {
      flag: 'oidc-scopes',
      value: 'names',
      about: 'what it is asked for',
      setting: 'oidcScopes',
      fallback: 'openid,email,profile',
    },
    { flag: 'oidc-user-claim', value: 'name', about: 'which of its claims names a user', setting: 'oidcUserClaim' },
    { flag: 'oidc-groups-claim', value: 'name', about: 'which of them lists groups', setting: 'oidcGroupsClaim' },
    { flag: 'max-body-bytes', value: 'n', about: 'longest arguments that are taken', setting: 'maxBodyBytes' },
    {
      flag: 'max-runs-per-second',
      value: 'n',
      about: 'runs that one session or token may start',
      setting: 'maxRunsPerSecond',
    },
    ...callerOptions.map(option => (option.setting === 'logLevel' ? { ...option, fallback: 'info' } : option)),
  ],
  examples: [
    { line: 'pshub registry', about: 'for yourself; open the address that it prints' },
    {
      line: 'PSHUB_REGISTRY_ADMIN_TOKEN=$(openssl rand -base64 24) pshub registry --behind-proxy 127.0.0.1 --allowed-hosts hub.example',
      about: 'for a team, behind a proxy with TLS',
    },
    {
      line: `curl -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"a":1,"b":2}' http://127.0.0.1:7421/api/call/add:1.0`,
      about: 'call a task over HTTP',
    },
  ],
  exitCodes: {
    0: 'ended by a signal',
    1: 'it failed',
    2: 'the command line, a setting or the address is wrong',
    130: 'ended at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
