// npm run check: types, lint and the tests that answer at once, within a minute. `-- --watch` runs the tests again as files change.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkNode, install, run } from '../tools/prepare.mjs'
import { lint, pagesTypeCheck, typeCheck, vitest, vitestProgram } from './programs.mjs'
import { Steps } from './steps.mjs'

checkNode()
install()
/** Those of the model want a redis-server; all others only Node. */
const folders = ['test/unit', 'test/architecture', 'test/model']
if (process.argv.includes('--watch')) {
  run(process.execPath, [vitestProgram, 'watch', ...folders])
  process.exit(0)
}

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-check-'))
process.once('exit', () => rmSync(reportDir, { recursive: true, force: true }))
const steps = new Steps(reportDir)
steps.endOnSignals()
await steps.beside([lint, typeCheck, pagesTypeCheck], [vitest(reportDir, 'tests', 'tests', ...folders)])
steps.report()
