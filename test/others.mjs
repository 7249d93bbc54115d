// The tests that depend on it, with servers of other makes and versions, and with other versions of Node. What cannot be had on
// this machine is said to be missing, with the reason, and fails nothing.
import { otherNodes } from '../tools/other-nodes.mjs'
import { otherServers } from '../tools/other-servers.mjs'
import { altered, vitest } from './programs.mjs'

const inRedis = names => names.map(name => `test/redis/${name}.test.ts`)

/** What depends on the server: the library, the lists, rights, a full memory, and the model of it all. */
const ofServer = [
  ...inRedis(['calls', 'calls-refused', 'full-redis', 'functions', 'library', 'reply-lists', 'rights']),
  'test/model/functions.model.test.ts',
]
const inUnit = names => names.map(name => `test/unit/${name}.test.ts`)

/** What depends on Node: sockets, threads, timers, contexts of asynchronous code, JSON and patterns. */
const ofNode = [
  ...inRedis(['calls', 'calls-refused', 'tls']),
  ...inUnit(['any-message', 'codec', 'parts', 'redis-options', 'schema', 'schema-vectors', 'vectors']),
]
/** In the newest one. What lies between it and the one that runs everything else is hardly different. */
const ofNewestNode = [...ofNode, ...inRedis(['keepalive-thread', 'tracing', 'worker'])]
/** What the model compares is the library's doing; whether another server runs it alike shows in fewer runs. */
const fewRuns = { PSHUB_MODEL_RUNS: '150' }

const stepsOf = (found, what, make) =>
  found.flatMap(({ name, title, path, reason }) => {
    if (path) return [make({ name, title, path })]
    console.log(`The ${what} ${name} will not be tested: ${reason}.`)
    return []
  })

/** @returns steps that may follow one another beside others */
export const serverSteps = reportDir =>
  stepsOf(otherServers(), 'server', ({ name, title, path }) =>
    altered(vitest(reportDir, title, name, '--maxWorkers=1', ...ofServer), {
      env: { PSHUB_TEST_SERVER: path, ...fewRuns },
    }),
  )

/** @returns as `serverSteps` */
export const nodeSteps = reportDir => {
  const found = otherNodes()
  const newest = found.findLast(({ path }) => path)
  return stepsOf(found, 'runtime', ({ name, title, path }) => {
    const files = name === newest.name ? ofNewestNode : ofNode
    return altered(vitest(reportDir, title, name, '--maxWorkers=1', ...files), { program: path })
  })
}
