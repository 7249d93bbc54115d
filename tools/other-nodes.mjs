// Node in other versions, for tests: from the npm package of that name. `node tools/other-nodes.mjs` fetches them.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { artifactFolder, installInto, whatCanBeHad } from './fetched.mjs'

/** The tests themselves run on Node 20, the oldest that is supported, or on whatever runs them. */
const versions = ['22', '24'].filter(version => !process.version.startsWith(`v${version}.`))

const find = ({ version }) => {
  const folder = artifactFolder('nodes', version)
  const path = join(folder, 'node_modules/node/bin/node')
  // To the prefix, and not to the project around it.
  const install = [
    'npm',
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    `node@${version}`,
  ]
  if (!existsSync(path)) installInto(folder, `Node ${version}`, install, 0)
  const [, number] = /^v(\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))
  return { title: `Node ${number}`, path }
}

const had = wanted =>
  whatCanBeHad(
    wanted.map(version => ({ name: `node-${version}`, version })),
    find,
  )

export const otherNodes = () => had(versions)

/**
 * @param {string} version like 20.19
 * @returns {{ path?: string, reason?: string }} the program, or why it cannot be had
 */
export const otherNode = version => had([version])[0]

if (process.argv[1] === fileURLToPath(import.meta.url)) otherNodes()
