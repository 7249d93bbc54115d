// The tests that depend on it, with servers of other makes and versions, and with other versions of Node. What cannot be had on
// this machine is said to be missing, with the reason, and fails nothing.
import { otherNodes } from '../tools/other-nodes.mjs'
import { otherServers } from '../tools/other-servers.mjs'
import { vitest } from './programs.mjs'

const inRedis = names => names.map(name => `test/redis/${name}.test.ts`)

/** What depends on the server: the library, the lists, rights, a full memory, and the model of it all. */
const ofServer = [
  ...inRedis(['calls', 'full-redis', 'functions', 'jobs', 'library', 'reply-lists', 'rights']),
  'test/model/functions.model.test.ts',
]
/** What depends on Node: sockets, threads, timers, how modules are found, contexts of asynchronous code, and JSON. */
const ofNode = [
  ...inRedis(['calls', 'client', 'cli-worker', 'keepalive-thread', 'tls', 'tracing', 'worker']),
  'test/unit',
  // They only compute, or are of pages.
  ...['demo', 'form-*', 'overload-simulation', 'schema-diff', 'tryit-*', 'web-*'].map(
    name => `--exclude=test/unit/${name}.test.ts`,
  ),
]
/** What the model compares is the library's doing; whether another server runs it alike shows in fewer runs. */
const fewRuns = { PSHUB_MODEL_RUNS: '300' }

const stepsOf = (found, what, make) =>
  found.flatMap(({ name, title, path, reason }) => {
    if (path) return [make({ name, title, path })]
    console.log(`The ${what} ${name} will not be tested: ${reason}.`)
    return []
  })

/** @returns steps that may follow one another beside others */
export const serverSteps = reportDir =>
  stepsOf(otherServers(), 'server', ({ name, title, path }) => ({
    ...vitest(reportDir, title, name, '--maxWorkers=1', ...ofServer),
    env: { PSHUB_TEST_SERVER: path, ...fewRuns },
  }))

/** @returns as `serverSteps` */
export const nodeSteps = reportDir =>
  stepsOf(otherNodes(), 'runtime', ({ name, title, path }) => ({
    ...vitest(reportDir, title, name, '--maxWorkers=1', ...ofNode),
    program: path,
  }))
