// npm test: sets up what a fresh machine lacks, then type check, lint and all suites. Says what it could not run.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { otherServer, otherServerNames } from '../tools/other-servers.mjs'
import { prepare, root } from '../tools/prepare.mjs'
import { clientSteps } from './clients.mjs'
import { isSeen } from './fault/planted/seen.mjs'
import { nodeSteps, serverSteps } from './others.mjs'
import { altered, lint, node, pagesTypeCheck, typeCheck, vitest } from './programs.mjs'
import { Steps } from './steps.mjs'

const { values, positionals: only } = parseArgs({
  options: { whole: { type: 'boolean', default: false }, server: { type: 'string' } },
  allowPositionals: true,
})
const isWhole = values.whole

/** Has all that is started here use another server. Returns what to call it. */
const useServer = name => {
  if (!otherServerNames.includes(name)) {
    console.error(`There is no server '${name}'. Servers: ${otherServerNames.join(', ')}`)
    process.exit(2)
  }
  const { title, path, reason } = otherServer(name)
  if (!path) {
    console.error(`The server ${name} cannot be had here: ${reason}.`)
    process.exit(1)
  }
  process.env.PSHUB_TEST_SERVER = path
  return title
}

prepare()
const server = values.server === undefined ? undefined : useServer(values.server)
const { ensureServer } = await import('../tools/redis-server.mjs')
const { ensureBrowser } = await import('../tools/browser.mjs')
try {
  console.log(`Redis server: ${ensureServer()}`)
  console.log(`Browser: ${ensureBrowser()}`)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-report-'))
process.once('exit', () => rmSync(reportDir, { recursive: true, force: true }))
// As in vitest.config.ts: on shared machines a process may get no turn for seconds.
const retries = process.env.CI ? '1' : '0'

const readJson = name => JSON.parse(readFileSync(join(reportDir, name), 'utf8'))

/** Whose subject is time itself: they have the machine to themselves. */
const ofTime = [
  'blocked-for-good',
  'blocked-loop',
  'cli-slow',
  'durable-jobs',
  'keepalive-thread',
  'lapsed-lease',
  'lost-workers',
  'measures',
  'outages',
  'overload',
  'queue-figures',
  'waits',
].map(name => `test/redis/${name}.test.ts`)

/** They say something of the model and of the fault suite, and only change when these or the functions in Redis do. */
const hasPlanted = isWhole || !isSeen()
const plantedInModel = 'test/model/planted.model.test.ts'

/** They only compute, however long that takes. */
const computing = [
  'test/architecture.test.ts',
  'test/architecture-registry.test.ts',
  'test/model/functions.model.test.ts',
  'test/model/jobs.model.test.ts',
  'test/packages/types.test.ts',
  ...[
    'call-interleavings',
    'overload-simulation',
    'prometheus',
    'schema-diff-fits',
    'schema-vectors',
    'tryit-snippets',
  ].map(name => `test/unit/${name}.test.ts`),
  ...(hasPlanted ? [plantedInModel] : []),
]

/** They fetch what nobody needs otherwise. */
const fetching = ['package-managers', 'examples', 'deploy-lint'].map(name => `test/packages/${name}.test.ts`)
const ofWhole = isWhole ? [] : fetching

const excluded = [...ofTime, ...computing, plantedInModel, ...ofWhole].map(file => `--exclude=${file}`)
const tests = vitest(reportDir, 'tests', 'tests', '--maxWorkers=3', ...excluded)
const testsThatCompute = altered(
  vitest(reportDir, 'tests that compute', 'computing', '--maxWorkers=2', '--testTimeout=120000', ...computing),
  { env: isWhole ? { PSHUB_MODEL_RUNS: '2000' } : {}, givesWay: true },
)
// They wait more than they compute.
const testsOfTime = vitest(reportDir, 'tests of time', 'tests-of-time', '--maxWorkers=5', ...ofTime)
const on = server ? ` on ${server}` : ''
const wantedTests = vitest(reportDir, `tests${on}`, 'tests', ...only)
/** What another server can make different; those that packages of Python carry are built without TLS. */
const withoutTls = '--exclude=test/redis/tls.test.ts'
const ofServer = [
  vitest(
    reportDir,
    `tests in Redis${on}`,
    'in-redis',
    '--maxWorkers=2',
    'test/redis/',
    withoutTls,
    ...ofTime.map(file => `--exclude=${file}`),
  ),
  vitest(reportDir, `tests of time${on}`, 'of-time', '--maxWorkers=2', ...ofTime),
  vitest(reportDir, `models${on}`, 'models', '--testTimeout=120000', 'test/model/', `--exclude=${plantedInModel}`),
]
const faultOptions = [
  '--subset',
  '--quick',
  '--at-once',
  '2',
  '--retries',
  retries,
  '--json',
  join(reportDir, 'faults.json'),
  ...(hasPlanted ? [] : ['--rows-only']),
]
const faults = {
  ...node('faults', 'test/fault/run.mjs', ...faultOptions),
  counts: () => readJson('faults.json'),
}

const steps = new Steps(reportDir)
steps.endOnSignals()

/** Resolves when the tool has made or fetched what it is for. Whether that went well is seen by whoever needs it. */
const prepared = tool =>
  new Promise(resolve => {
    const child = spawn(process.execPath, [`tools/${tool}.mjs`], { cwd: root, stdio: 'ignore' })
    child.once('error', resolve).once('exit', resolve)
  })

/**
 * At first what takes the processor, with what does not mind to be late. Then what mostly waits, and must get its turn in time:
 * faults, where what was lost would count as late, and clients, which measure too; at last what measures nothing but time. What these
 * leave of the processor goes to what only computes.
 */
const runAll = async () => {
  const toolsDone = Promise.all(['python-env', 'other-nodes'].map(prepared))
  await steps.beside([typeCheck, pagesTypeCheck], [lint])
  await toolsDone
  const { checks, own, conformance } = clientSteps(reportDir, retries)
  // One lane beside the tests: with three, single tests waited for seconds for their turn, and nothing ended sooner.
  await steps.beside([tests], [...checks, ...nodeSteps(reportDir), conformance])
  const computed = steps.beside([testsThatCompute])
  await steps.beside([faults], ...own.map(step => [step]), serverSteps(reportDir))
  await steps.beside([testsOfTime])
  await computed
}

if (server && only.length === 0) {
  for (const step of ofServer) await steps.alone(step)
  console.log(
    '\nOnly tests of TypeScript with this server were run, without those of TLS; npm test runs all of them on the default one.',
  )
} else if (only.length === 0) await runAll()
else {
  for (const step of [typeCheck, pagesTypeCheck, lint, wantedTests]) await steps.alone(step)
  console.log(
    '\nOnly these tests were run. Faults: npm run test:faults; other languages: npm run conformance -- --help',
  )
}

await steps.tryAgain()
steps.report()
