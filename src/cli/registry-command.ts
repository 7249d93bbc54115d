import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import { callerOptionsWith } from './options.ts'
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
    'Install its package next to pshub: npm install pshub-registry.',
    'Serves pages that show tasks, workers and queues live and run tasks from forms, and an HTTP API: POST ' +
      '/api/call/<task> calls a task, /openapi.json describes all tasks, /metrics is for Prometheus, /healthz for probes.',
    'Users need a token of a role: view may look, run may also run tasks, admin may do everything. Programs send it ' +
      'as a bearer token; people log in with it. If you set none, pshub creates an admin token and prints it with the ' +
      'address. Set tokens in the environment or the settings file: other users can read flags in the process list.',
    'Only this machine can reach it unless you set --host. If Redis is unreachable, the pages say so. Every run is ' +
      'logged on stderr: who, which task, how it ended, but never the arguments. Ctrl-C or SIGTERM stops it.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'host', value: 'address', about: 'address to bind', setting: 'host' },
    { flag: 'port', value: 'n', about: '0 for a free one', setting: 'port' },
    { flag: 'base-path', value: 'path', about: 'path of the pages, such as /registry', setting: 'basePath' },
    {
      flag: 'environment',
      value: 'name',
      about: 'environment shown on each page: production, or with a colour, staging:orange',
      setting: 'environment',
      fallback: 'none',
    },
    { flag: 'view-token', value: 'token', about: 'token of the role view: look', setting: 'viewToken' },
    { flag: 'run-token', value: 'token', about: 'token of the role run: look and run tasks', setting: 'runToken' },
    { flag: 'admin-token', value: 'token', about: 'token of the role admin: everything', setting: 'adminToken' },
    { flag: 'read-only', about: 'allow no runs and no changes', setting: 'readOnly', fallback: 'off' },
    {
      flag: 'run-tasks',
      value: 'names',
      about: 'tasks that may be run, such as mail/*,add:1.0',
      setting: 'runTasks',
      fallback: 'all',
    },
    {
      flag: 'allowed-hosts',
      value: 'names',
      about: 'host names it answers to, besides those of this machine',
      setting: 'allowedHosts',
      fallback: 'none',
    },
    {
      flag: 'behind-proxy',
      value: 'addresses',
      about: 'proxies whose X-Forwarded-Host, -Proto and -For are trusted, such as 10.0.0.0/8,::1',
      setting: 'behindProxy',
      fallback: 'none',
    },
    {
      flag: 'access',
      value: 'file',
      about: 'JSON file of access rules: roles of users and groups, and tasks of each',
      setting: 'access',
      fallback: 'roles only',
    },
    {
      flag: 'hide-values',
      value: 'what',
      about: 'what to hide in arguments and results of jobs: secrets, or all',
      setting: 'hideValues',
    },
    {
      flag: 'user-header',
      value: 'name',
      about: 'header of the proxies with the user, such as X-Forwarded-User',
      setting: 'userHeader',
      fallback: 'none',
    },
    {
      flag: 'groups-header',
      value: 'name',
      about: 'header of the proxies with the groups, such as X-Forwarded-Groups',
      setting: 'groupsHeader',
      fallback: 'none',
    },
    {
      flag: 'oidc-issuer',
      value: 'address',
      about: 'OpenID Connect provider for logins',
      setting: 'oidcIssuer',
      fallback: 'none',
    },
    {
      flag: 'oidc-client-id',
      value: 'id',
      about: 'client id of the registry at the provider',
      setting: 'oidcClientId',
    },
    {
      flag: 'oidc-client-secret',
      value: 'secret',
      about: 'client secret; set it in the environment or the file',
      setting: 'oidcClientSecret',
    },
    {
      flag: 'oidc-scopes',
      value: 'names',
      about: 'scopes to request',
      setting: 'oidcScopes',
      fallback: 'openid,email,profile',
    },
    { flag: 'oidc-user-claim', value: 'name', about: 'claim with the user', setting: 'oidcUserClaim' },
    { flag: 'oidc-groups-claim', value: 'name', about: 'claim with the groups', setting: 'oidcGroupsClaim' },
    { flag: 'max-body-bytes', value: 'n', about: 'largest arguments to accept', setting: 'maxBodyBytes' },
    {
      flag: 'max-runs-per-second',
      value: 'n',
      about: 'runs that a session or token may have in flight',
      setting: 'maxRunsPerSecond',
    },
    ...callerOptionsWith('info'),
  ],
  examples: [
    { line: 'pshub registry', about: 'for yourself; open the printed address' },
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
    0: 'stopped by a signal',
    1: 'it failed',
    2: 'the command line, a setting or the address is wrong',
    130: 'stopped at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
