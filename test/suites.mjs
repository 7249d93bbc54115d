// The suites of `npm test` (the gate) and of `npm run test:all`, with the CPU seconds each may take. Suites of one lane follow one
// another; lanes run beside each other. A suite that this machine cannot run says so and why, and fails nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newerGems } from '../tools/newer-gems.mjs'
import { otherNodes } from '../tools/other-nodes.mjs'
import { otherServers } from '../tools/other-servers.mjs'
import { root } from '../tools/prepare.mjs'
import { pythonEnv } from '../tools/python-env.mjs'
import { rubyEnv } from '../tools/ruby-env.mjs'
import { lints } from './lints.mjs'
import { countsOfJunit, ifPossible, longFiles, node, pagesTypeCheck, typeCheck, vitest } from './programs.mjs'

const ofClient = (title, language, cpuBudget, command) => reportDir =>
  ifPossible(title, () => {
    const report = join(reportDir, `${title.replaceAll(' ', '-')}.xml`)
    const [program, args, more] = command(report)
    return {
      title,
      program,
      args,
      cwd: join(root, 'clients', language),
      counts: () => countsOfJunit(report),
      cpuBudget,
      ...more,
    }
  })

const pytest = ['-m', 'pytest', '-q', '-n', '3', '--dist', 'loadfile']
const python = ofClient('Python client', 'python', 65, report => [
  pythonEnv(),
  [...pytest, '-m', 'not long', `--junitxml=${report}`],
])
const pythonLong = ofClient('Python client, long', 'python', 90, report => [
  pythonEnv(),
  [...pytest, '-m', 'long', `--junitxml=${report}`],
])
const ruby = ofClient('Ruby client', 'ruby', 35, report => [rubyEnv(), ['test/run.rb', `--junit=${report}`]])
const rubyLong = ofClient('Ruby client, long', 'ruby', 60, report => [
  rubyEnv(),
  ['test/run.rb', '--long', `--junit=${report}`],
])

/** What depends on the gem redis, with the versions that a newer Debian has of it and of Active Job. */
const ofNewerGems = [
  ...['active_job', 'calls', 'connections', 'faults', 'fence', 'library', 'program', 'targets'],
  ...['cluster_finding_long', 'cluster_moves_long', 'sentinel_long'],
].map(name => `test_${name}.rb`)
const rubyNewerGems = ofClient('Ruby client, redis 5', 'ruby', 40, report => [
  rubyEnv(),
  ['test/run.rb', `--junit=${report}`, ...ofNewerGems],
  { env: { RUBYLIB: newerGems() }, isRepeat: true },
])

/** A program of ours that writes how many of its checks passed and failed, and which, into a file it is told by `--json`. */
const counted =
  (title, file, cpuBudget, ...args) =>
  reportDir => {
    const report = join(reportDir, `${title.replaceAll(' ', '-')}.json`)
    const counts = () => JSON.parse(readFileSync(report, 'utf8'))
    return [{ ...node(title, file, ...args, '--json', report), counts, cpuBudget }]
  }

/** Languages that can be had here. */
const spoken = () => ['typescript', ...(isHad(pythonEnv) ? ['python'] : []), ...(isHad(rubyEnv) ? ['ruby'] : [])]
const isHad = find => {
  try {
    return Boolean(find())
  } catch {
    return false
  }
}
const conformance =
  (title, cpuBudget, ...args) =>
  reportDir =>
    counted(title, 'test/conformance/run.mjs', cpuBudget, ...spoken(), ...args)(reportDir)

const inRedis = names => names.map(name => `test/redis/${name}.test.ts`)
const inUnit = names => names.map(name => `test/unit/${name}.test.ts`)

/** What depends on the server: the library, the lists, rights, a full memory, and the model of it all. */
const ofServer = [
  ...inRedis(['calls', 'calls-refused', 'full-redis', 'functions', 'library', 'reply-lists', 'rights']),
  'test/model/functions.model.test.ts',
]
/** What depends on Node: sockets, threads, timers, contexts of asynchronous code, JSON and patterns. */
const ofNode = [
  ...inRedis(['calls', 'calls-refused', 'tls', 'keepalive-thread', 'tracing', 'worker']),
  ...inUnit(['any-message', 'codec', 'parts', 'redis-options', 'schema', 'schema-vectors', 'vectors']),
]

/** The same tests again with something else below them. What cannot be had here says why. */
const again = (found, make) => reportDir =>
  found().flatMap(({ name, title, path, reason }) =>
    ifPossible(title ?? name, () => {
      if (!path) throw new Error(reason)
      return { ...make({ name, title, path }, reportDir), isRepeat: true }
    }),
  )
const servers = again(otherServers, ({ name, title, path }, reportDir) => ({
  ...vitest(reportDir, title, name, 60, '--maxWorkers=1', ...ofServer),
  env: { PSHUB_TEST_SERVER: path },
}))
const nodes = again(otherNodes, ({ name, title, path }, reportDir) => ({
  ...vitest(reportDir, title, name, 70, '--maxWorkers=1', ...ofNode),
  program: path,
}))

/**
 * The lanes of the gate. The other lane mostly waits, for workers and for faults: what it leaves of two cores is what the tests need.
 * @param {string} reportDir where suites leave their reports
 */
export const gate = reportDir => [
  [vitest(reportDir, 'tests', 'tests', 330, '--maxWorkers=3', `--exclude=${longFiles}`)],
  [
    typeCheck,
    pagesTypeCheck,
    ...python(reportDir),
    ...conformance('conformance, ring', 130, '--ring')(reportDir),
    ...counted('faults', 'test/fault/run.mjs', 65, '--subset', '--quick', '--at-once', '2')(reportDir),
    ...ruby(reportDir),
  ],
]

/** Tests of the gate that make more cases of their own where they may take longer. */
const generated = reportDir => ({
  ...vitest(
    reportDir,
    'generated cases',
    'generated',
    210,
    '--maxWorkers=1',
    ...inUnit(['call-interleavings', 'overload-simulation', 'prometheus', 'schema-cases', 'schema-diff-fits']),
    ...['functions', 'jobs', 'keys'].map(name => `test/model/${name}.model.test.ts`),
  ),
  env: { PSHUB_LONG: '1', PSHUB_MODEL_RUNS: '1000' },
  isRepeat: true,
})

/** The lanes of test:all, without what the gate has. */
export const everythingElse = reportDir => [
  [vitest(reportDir, 'long tests', 'long', 500, '--maxWorkers=2', '.long.test.ts'), generated(reportDir)],
  [
    ...lints(),
    ...nodes(reportDir),
    ...servers(reportDir),
    ...pythonLong(reportDir),
    ...rubyLong(reportDir),
    ...rubyNewerGems(reportDir),
    ...conformance('conformance, all pairs', 350)(reportDir),
    ...counted('faults, all rows', 'test/fault/run.mjs', 1000, '--rows-only', '--quick', '--at-once', '2')(reportDir),
    ...counted('planted bugs', 'test/fault/run.mjs', 250, '--planted', '--quick', '--at-once', '2')(reportDir),
  ],
]

/** @returns the suites of a run on another server: what uses one, without TLS, which packages of Python do not build in */
export const onServer = (reportDir, title) => [
  [
    vitest(
      reportDir,
      `tests on ${title}`,
      'in-redis',
      400,
      '--maxWorkers=3',
      'test/redis/',
      'test/model/',
      `--exclude=${longFiles}`,
      '--exclude=test/redis/tls.test.ts',
    ),
  ],
]
