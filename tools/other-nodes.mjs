// Node in other versions, for tests: from the npm package of that name, once, into test/artifacts. `node tools/other-nodes.mjs`
// fetches them.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './prepare.mjs'

/** The tests themselves run on Node 20, the oldest that is supported, or on whatever runs them. */
const versions = ['22', '24'].filter(version => !process.version.startsWith(`v${version}.`))

const fetch = version => {
  const folder = join(root, 'test/artifacts/nodes', version)
  const program = join(folder, 'node_modules/node/bin/node')
  if (existsSync(program)) return program
  console.error(`Fetching Node ${version} (once) ...`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error', `node@${version}`]
  try {
    execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(
      String(error.stderr ?? error.message)
        .trim()
        .split('\n')[0],
    )
  }
  return program
}

/**
 * What can be had here, and what cannot, with the reason.
 * @returns {{ name: string, title?: string, path?: string, reason?: string }[]}
 */
export const otherNodes = () =>
  versions.map(version => {
    const name = `node-${version}`
    try {
      const path = fetch(version)
      const [, number] = /^v(\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))
      return { name, title: `Node ${number}`, path }
    } catch (error) {
      return { name, reason: error.message.split('\n')[0] }
    }
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) otherNodes()
