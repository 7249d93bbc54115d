// The tests that depend on the server, with those of other makes and versions. What cannot be had on this machine is said to be
// missing, with the reason, and fails nothing.
import { otherServers } from '../tools/other-servers.mjs'
import { vitest } from './programs.mjs'

/** What depends on the server: the library, the lists, rights, a full memory, and the model of it all. */
const ofServer = [
  ...['calls', 'full-redis', 'functions', 'jobs', 'library', 'reply-lists', 'rights'].map(
    name => `test/redis/${name}.test.ts`,
  ),
  'test/model/functions.model.test.ts',
]

/** @returns steps that may follow one another beside others */
export const otherSteps = reportDir =>
  otherServers().flatMap(({ name, title, path, reason }) => {
    if (path)
      return [{ ...vitest(reportDir, title, name, '--maxWorkers=1', ...ofServer), env: { PSHUB_TEST_SERVER: path } }]
    console.log(`The server ${name} will not be tested: ${reason}.`)
    return []
  })
