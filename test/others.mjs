// The tests that depend on the server, with those of other makes and versions. What cannot be had on this machine is said to be
// missing, with the reason, and fails nothing.
import { otherServers } from '../tools/other-servers.mjs'
import { vitest } from './programs.mjs'

const inRedis = names => names.map(name => `test/redis/${name}.test.ts`)

/** What depends on the server: the library, the lists, rights, a full memory, and the model of it all. */
const ofServer = [
  ...inRedis(['calls', 'full-redis', 'functions', 'jobs', 'library', 'reply-lists', 'rights']),
  'test/model/functions.model.test.ts',
]
const stepsOf = (found, what, make) =>
  found.flatMap(({ name, title, path, reason }) => {
    if (path) return [make({ name, title, path })]
    console.log(`The ${what} ${name} will not be tested: ${reason}.`)
    return []
  })

/** @returns steps that may follow one another beside others */
export const otherSteps = reportDir => [
  ...stepsOf(otherServers(), 'server', ({ name, title, path }) => ({
    ...vitest(reportDir, title, name, '--maxWorkers=1', ...ofServer),
    env: { PSHUB_TEST_SERVER: path },
  })),
]
