// npm test: sets up what a fresh machine lacks, then type check, lint and all suites. Says what it could not run.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { prepare, root } from '../tools/prepare.mjs'
import { clientSteps } from './clients.mjs'
import { Steps } from './steps.mjs'

prepare()
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
const only = process.argv.slice(2)
// As in vitest.config.ts: on shared machines a process may get no turn for seconds.
const retries = process.env.CI ? '1' : '0'

const node = (title, file, ...args) => ({ title, program: process.execPath, args: [file, ...args] })
const ofPackage = name => join(root, 'node_modules', name)
const readJson = name => JSON.parse(readFileSync(join(reportDir, name), 'utf8'))

const typeCheck = node('type check', ofPackage('typescript/bin/tsc'), '--noEmit')
const pagesTypeCheck = node(
  'type check of the pages',
  ofPackage('typescript/bin/tsc'),
  '--noEmit',
  '-p',
  'registry/web/tsconfig.json',
)
const lint = node('lint and format', ofPackage('@biomejs/biome/bin/biome'), 'check', '.')
/** Whose subject is time itself: they have the machine to themselves, by two. The others mostly wait for something. */
const ofTime = [
  'blocked-loop',
  'cli-slow',
  'keepalive-thread',
  'lapsed-lease',
  'lost-workers',
  'measures',
  'outages',
  'overload',
  'queue-figures',
  'waits',
].map(name => `test/redis/${name}.test.ts`)

/** Of files that could not even be loaded too. */
const failuresOf = ({ testResults }) =>
  testResults.flatMap(({ name: file, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    const tests = failed.map(({ fullName, failureMessages }) => ({
      name: fullName,
      message: failureMessages.join('\n'),
    }))
    if (message && tests.length === 0) tests.push({ name: 'as a whole', message })
    return tests.map(({ name, message }) => ({ name: `${relative(root, file)}: ${name}`, message }))
  })

const vitest = (title, name, ...args) => {
  const report = join(reportDir, `${name}.json`)
  const reporters = ['default', 'json', './test/support/retried-reporter.mjs'].map(name => `--reporter=${name}`)
  return {
    ...node(title, ofPackage('vitest/vitest.mjs'), 'run', ...reporters, `--outputFile.json=${report}`, ...args),
    counts() {
      const report = readJson(`${name}.json`)
      const { numPassedTests, numFailedTests, numPendingTests } = report
      const counted = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests }
      return { ...counted, failures: failuresOf(report), retried: readJson(`${name}.json.retried`) }
    },
  }
}
const tests = vitest('tests', 'tests', '--maxWorkers=3', ...ofTime.map(file => `--exclude=${file}`))
const testsOfTime = vitest('tests of time', 'tests-of-time', ...ofTime)
const wantedTests = vitest('tests', 'tests', ...only)
const faultOptions = [
  '--subset',
  '--quick',
  '--at-once',
  '2',
  '--retries',
  retries,
  '--json',
  join(reportDir, 'faults.json'),
]
const faults = {
  ...node('faults', 'test/fault/run.mjs', ...faultOptions),
  counts: () => readJson('faults.json'),
}

const steps = new Steps(reportDir)
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    steps.interrupt()
    process.exit(130)
  })
}

/** Beside each other only what mostly waits; what measures time has the machine nearly to itself. */
const runAll = async () => {
  const { own, conformance } = clientSteps(reportDir, retries)
  await steps.alone(typeCheck)
  await steps.alone(pagesTypeCheck)
  await steps.alone(lint)
  await steps.alone(tests)
  await steps.alone(testsOfTime)
  await steps.beside(own, [faults])
  await steps.alone(conformance)
}

if (only.length === 0) await runAll()
else {
  for (const step of [typeCheck, pagesTypeCheck, lint, wantedTests]) await steps.alone(step)
  console.log(
    '\nOnly these tests were run. Faults: npm run test:faults; other languages: npm run conformance -- --help',
  )
}

const { failed, failures, retried, passedTests, failedTests, skippedTests } = steps.sum()
/** One or two may be the machine's doing; more of them are ours. */
const mostRetried = 2
if (retried.length > mostRetried) failed.push(`${retried.length} tests that needed a second try`)
// Once more at the end: of an output this long the beginning is often cut off.
for (const { name, message } of failures) {
  const told = message.split('\n').filter(line => !line.includes('node_modules'))
  console.log(`\nFailed: ${name}\n${told.slice(0, 12).join('\n')}`)
}
for (const name of retried) console.log(`\nPassed only on its second try: ${name}`)
console.log(`\n${steps.table()}`)
console.log(failed.length ? `\nFailed: ${failed.join(', ')}` : '\nAll steps passed')
console.log(`${passedTests} passed, ${failedTests} failed${skippedTests ? `, ${skippedTests} skipped` : ''}`)
process.exit(failed.length ? 1 : 0)
