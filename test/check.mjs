// npm run check: types, lint and the tests that answer at once, within a minute. `-- --watch` runs the tests again as files change.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkNode, install, run } from '../tools/prepare.mjs'
import { lints } from './lints.mjs'
import { longFiles, pagesTypeCheck, typeCheck, vitest, vitestProgram } from './programs.mjs'
import { Steps } from './steps.mjs'

checkNode()
install()
/** They need Node and nothing else. */
const quick = ['test/unit', 'test/architecture', 'test/suite-rules', `--exclude=${longFiles}`]
if (process.argv.includes('--watch')) {
  run(process.execPath, [vitestProgram, 'watch', ...quick])
  process.exit(0)
}

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-check-'))
process.once('exit', () => rmSync(reportDir, { recursive: true, force: true }))
const steps = new Steps(reportDir)
steps.endOnSignals()
await steps.run([
  [typeCheck, pagesTypeCheck, vitest(reportDir, 'quick tests', 'quick', undefined, '--maxWorkers=1', ...quick)],
  lints(),
])
steps.report()
