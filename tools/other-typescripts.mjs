// TypeScript in versions that projects have and this one does not, for tests: from npm. `node tools/other-typescripts.mjs` fetches them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { artifactFolder, installInto, whatCanBeHad } from './fetched.mjs'

/** The last one with the module resolution that CommonJS projects have had for ten years. */
const versions = ['5.9']

const find = ({ version }) => {
  const folder = artifactFolder('typescripts', version)
  const path = join(folder, 'node_modules/typescript/bin/tsc')
  // To the prefix, and not to the project around it.
  const options = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error']
  const install = ['npm', 'install', ...options, `typescript@~${version}.0`]
  if (!existsSync(path)) installInto(folder, `TypeScript ${version}`, install, 0)
  return { title: `TypeScript ${version}`, path }
}

/** @returns {{ name: string, title?: string, path?: string, reason?: string }[]} */
export const otherTypeScripts = () =>
  whatCanBeHad(
    versions.map(version => ({ name: `typescript-${version}`, version })),
    find,
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) otherTypeScripts()
