// npm test: the gate. Sets up what a fresh machine lacks, then type check and tests. With --all, everything else.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { otherServer, otherServerNames } from '../tools/other-servers.mjs'
import { setUp } from '../tools/setup.mjs'
import { pagesTypeCheck, typeCheck, vitest } from './programs.mjs'
import { Steps } from './steps.mjs'

const { values, positionals: only } = parseArgs({
  options: { all: { type: 'boolean', default: false }, server: { type: 'string' } },
  allowPositionals: true,
})

const endWith = (code, message) => {
  console.error(message)
  process.exit(code)
}

try {
  setUp({ isLong: values.all })
} catch (error) {
  endWith(1, error.message)
}

/** Has all that is started here use another server. Returns what to call it. */
const useServer = name => {
  if (!otherServerNames.includes(name))
    endWith(2, `There is no server '${name}'. Servers: ${otherServerNames.join(', ')}`)
  const { title, path, reason } = otherServer(name)
  if (!path) endWith(1, `The server ${name} cannot be had here: ${reason}.`)
  process.env.PSHUB_TEST_SERVER = path
  return title
}
const server = values.server && useServer(values.server)

const reportDir = mkdtempSync(join(tmpdir(), 'pshub-report-'))
process.once('exit', () => rmSync(reportDir, { recursive: true, force: true }))
const steps = new Steps(reportDir)
steps.endOnSignals()

// Only now: what it imports may have been installed a moment ago.
const { everythingElse, gate, onServer } = await import('./suites.mjs')
const lanes = () => {
  if (only.length > 0) return [[typeCheck, pagesTypeCheck, vitest(reportDir, 'tests', 'tests', undefined, ...only)]]
  if (server) return onServer(reportDir, server)
  return values.all ? everythingElse(reportDir) : gate(reportDir)
}
await steps.run(lanes())
steps.report({ holdsBudgets: values.all })
