// Everything that tests need beside the project's own packages, found or installed in one visible step before the first suite, so
// that no suite is measured while a package manager works. `node tools/setup.mjs` does it alone; `--long` for all of test:all.
import { fileURLToPath } from 'node:url'
import { ensureBrowser } from './browser.mjs'
import { ensureFaketime } from './faketime.mjs'
import { newerGems } from './newer-gems.mjs'
import { otherNodes } from './other-nodes.mjs'
import { otherServers } from './other-servers.mjs'
import { otherTypeScripts } from './other-typescripts.mjs'
import { build, checkNode, install } from './prepare.mjs'
import { pythonEnv } from './python-env.mjs'
import { ensureBroker } from './rabbitmq.mjs'
import { ensureServer } from './redis-server.mjs'
import { railsEnv, rubyEnv } from './ruby-env.mjs'
import { rubyLinter } from './ruby-lint.mjs'

/** `isNeeded`: without it there is no test run. Without the others, their suites say that they could not run, and why. */
const parts = [
  { title: 'packages of the lock file', get: install, isNeeded: true },
  { title: 'build', get: build, isNeeded: true },
  { title: 'Redis server', get: ensureServer, isNeeded: true },
  { title: 'browser', get: ensureBrowser, isNeeded: true },
  { title: 'Python with the client', get: pythonEnv },
  { title: 'Ruby with its gems', get: rubyEnv },
  { title: 'Rails', get: railsEnv },
]
const each = found => found.map(({ title, name, reason }) => title ?? `${name}: ${reason}`).join(', ')
const longParts = [
  { title: 'clock to set (faketime)', get: ensureFaketime },
  { title: 'linter of Ruby', get: rubyLinter },
  { title: 'RabbitMQ', get: ensureBroker },
  { title: 'newer gems for Ruby', get: () => void newerGems() },
  { title: 'other Nodes', get: () => each(otherNodes()) },
  { title: 'other TypeScripts', get: () => each(otherTypeScripts()) },
  { title: 'other servers', get: () => each(otherServers()) },
]

/**
 * Installs what this machine lacks and prints, for each part, what was found and how long it took.
 * @param {{ isLong?: boolean }} [options] `isLong`: also what only test:all needs
 * @throws Error where something is missing without which nothing can be tested; it says what to install
 */
export const setUp = ({ isLong = false } = {}) => {
  checkNode()
  console.log('== set-up')
  const startedAt = performance.now()
  for (const { title, get, isNeeded } of isLong ? [...parts, ...longParts] : parts) {
    const beganAt = performance.now()
    const print = found =>
      console.log(`${title.padEnd(26)} ${((performance.now() - beganAt) / 1000).toFixed(1).padStart(6)} s  ${found}`)
    try {
      print(get() ?? 'ready')
    } catch (error) {
      if (isNeeded) throw error
      print(`missing: ${error.message.split('\n')[0]}`)
    }
  }
  console.log(`set-up took ${Math.round((performance.now() - startedAt) / 1000)} s`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    setUp({ isLong: process.argv.includes('--long') })
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}
