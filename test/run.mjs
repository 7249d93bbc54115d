// npm test: sets up what a fresh machine lacks, then type check, lint and all suites. Says what it could not run.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepare, root } from '../tools/prepare.mjs'
import { testClients } from './clients.mjs'

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

const bin = name => join(root, 'node_modules', name)
const failed = []

const step = (title, program, args, cwd = root) => {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (status !== 0) failed.push(title)
}

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-report-'))
const report = join(reportDir, 'report.json')
const only = process.argv.slice(2)

step('type check', process.execPath, [bin('typescript/bin/tsc'), '--noEmit'])
step('type check of the pages', process.execPath, [
  bin('typescript/bin/tsc'),
  '--noEmit',
  '-p',
  'registry/web/tsconfig.json',
])
step('lint and format', process.execPath, [bin('@biomejs/biome/bin/biome'), 'check', '.'])
step('tests', process.execPath, [
  bin('vitest/vitest.mjs'),
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...only,
])

let counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }
try {
  counts = JSON.parse(readFileSync(report, 'utf8'))
} catch {
  failed.push('tests wrote no report')
}

if (only.length === 0) {
  const faultReport = join(reportDir, 'faults.json')
  // As in vitest.config.ts: on shared machines a process may get no turn for seconds.
  const retries = process.env.CI ? '1' : '0'
  const options = ['--subset', '--quick', '--retries', retries, '--json', faultReport]
  step('faults', process.execPath, ['test/fault/run.mjs', ...options])
  try {
    const { passed, failed: broken } = JSON.parse(readFileSync(faultReport, 'utf8'))
    counts.numPassedTests += passed
    counts.numFailedTests += broken
  } catch {
    failed.push('the fault suite wrote no report')
  }
} else console.log('\nThe fault suite was not run, because single tests were asked for: npm run test:faults')

if (only.length === 0) {
  const clients = await testClients(step, reportDir)
  counts.numPassedTests += clients.passed
  counts.numFailedTests += clients.failed
  failed.push(...clients.missing)
}
rmSync(reportDir, { recursive: true, force: true })
if (counts.numPassedTests === 0) failed.push('no test ran')
console.log(failed.length ? `\nFailed: ${failed.join(', ')}` : '\nAll steps passed')
console.log(
  `${counts.numPassedTests} passed, ${counts.numFailedTests} failed` +
    (counts.numPendingTests ? `, ${counts.numPendingTests} skipped` : ''),
)
process.exit(failed.length ? 1 : 0)
