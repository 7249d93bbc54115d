// npm test: sets up what a fresh machine lacks, then type check, lint and all suites. Says what it could not run.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepare, root } from '../tools/prepare.mjs'

prepare()
const { ensureServer } = await import('../tools/redis-server.mjs')
try {
  console.log(`Redis server: ${ensureServer()}`)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const bin = name => join(root, 'node_modules', name)
const failed = []

const step = (title, script, args) => {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) failed.push(title)
}

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-report-'))
const report = join(reportDir, 'report.json')
const only = process.argv.slice(2)

step('type check', bin('typescript/bin/tsc'), ['--noEmit'])
step('lint and format', bin('@biomejs/biome/bin/biome'), ['check', '.'])
step('tests', bin('vitest/vitest.mjs'), [
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
rmSync(reportDir, { recursive: true, force: true })
if (counts.numPassedTests === 0) failed.push('no test ran')
console.log(failed.length ? `\nFailed: ${failed.join(', ')}` : '\nAll steps passed')
console.log(
  `${counts.numPassedTests} passed, ${counts.numFailedTests} failed` +
    (counts.numPendingTests ? `, ${counts.numPendingTests} skipped` : ''),
)
process.exit(failed.length ? 1 : 0)
