// Virtual environments with the Python client: clients/python/.venv for its tests, and a smaller one for the demo's worker.
// Made once, and again when its pyproject.toml changes. `node tools/python-env.mjs` prints the interpreter's path, or says
// plainly why there is none; `--demo` does so for the demo's, and `--demo --ready` makes nothing.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages, mayInstallPackages } from './apt.mjs'
import { root } from './prepare.mjs'

const folder = join(root, 'clients/python')
const pythonIn = home => join(home, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')

/** The demo installs nothing on the machine itself, and does not wait for what only tests need. */
const kinds = {
  tests: { home: join(folder, '.venv'), packages: '.[test]', mayInstallPython: true },
  demo: { home: join(root, 'examples/demo/moon/.venv'), packages: '.', mayInstallPython: false },
}

const say = line => console.error(line)

const versionOf = command => {
  try {
    const code = 'import sys; print("%d.%d" % sys.version_info[:2])'
    const text = execFileSync(command, ['-c', code], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const [major, minor] = text.trim().split('.').map(Number)
    return major === 3 && minor >= 10 ? `${major}.${minor}` : undefined
  } catch {
    return undefined
  }
}

/** A Python of 3.10 or newer. PSHUB_TEST_PYTHON names one outright. */
const findPython = () =>
  [process.env.PSHUB_TEST_PYTHON, 'python3', 'python'].filter(Boolean).find(command => versionOf(command) !== undefined)

/** Debian's python3 comes without what makes virtual environments. */
const canMakeHomes = command => {
  try {
    execFileSync(command, ['-c', 'import venv, ensurepip'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const fitPython = ({ mayInstallPython }) => {
  const found = findPython()
  if (found && canMakeHomes(found)) return found
  if (mayInstallPython && mayInstallPackages()) {
    installPackages('python3', 'python3-venv')
    const installed = findPython()
    if (installed && canMakeHomes(installed)) return installed
  }
  throw new Error(
    found
      ? `${found} cannot make virtual environments; install its venv package (apt-get install python3-venv)`
      : 'there is no python3 of version 3.10 or newer; install one, or name it in PSHUB_TEST_PYTHON',
  )
}

const stampOf = home => join(home, '.pshub')

const currentStamp = () =>
  createHash('sha256')
    .update(readFileSync(join(folder, 'pyproject.toml')))
    .digest('hex')

const isReady = ({ home }) =>
  existsSync(pythonIn(home)) && existsSync(stampOf(home)) && readFileSync(stampOf(home), 'utf8') === currentStamp()

const make = kind => {
  const { home, packages } = kind
  const python = pythonIn(home)
  const stamp = currentStamp()
  const base = fitPython(kind)
  say(`Making the Python environment (once), with ${base} ${versionOf(base)} ...`)
  rmSync(home, { recursive: true, force: true })
  try {
    const quiet = { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }
    execFileSync(base, ['-m', 'venv', home], quiet)
    const pip = ['-m', 'pip', '--disable-pip-version-check', '-q', 'install']
    execFileSync(python, [...pip, '-e', packages], quiet)
    if (kind === kinds.tests) installMore(extra => execFileSync(python, [...pip, '-e', `.[${extra}]`], quiet))
  } catch (error) {
    const told = String(error.stderr ?? error.message)
      .trim()
      .split('\n')
    // pip's last words are often only a note.
    const reason = told.findLast(line => line.includes('ERROR: ')) ?? told.at(-1)
    throw new Error(`its packages could not be installed: ${reason.replace('ERROR:', '').trim()}`)
  }
  writeFileSync(stampOf(home), stamp)
  return python
}

/** What tests can do without: what is not there is said, by them too. */
const more = {
  fast: 'hiredis could not be installed; redis-py reads answers without it, more slowly.',
  models: 'pydantic and msgspec could not be installed; tests of their models are skipped.',
  lint: 'mypy and ruff could not be installed; the Python client is not linted.',
}

const installMore = install => {
  for (const [extra, otherwise] of Object.entries(more)) {
    try {
      install(extra)
    } catch {
      say(otherwise)
    }
  }
}

/**
 * The interpreter of the environment, in which the package is installed with all that its tests need.
 * @returns {string} its path
 * @throws Error with the reason, in one sentence, where Python or its packages cannot be had
 */
export const pythonEnv = () => (isReady(kinds.tests) ? pythonIn(kinds.tests.home) : make(kinds.tests))

/**
 * The interpreter for the demo's worker: of either environment, whichever is there.
 * @param {{ mayMake: boolean }} options whether it may take the time to make one
 * @throws as `pythonEnv`
 */
const demoPython = ({ mayMake }) => {
  if (findPython() === undefined) throw new Error('there is no python3 of version 3.10 or newer')
  const ready = Object.values(kinds).find(isReady)
  if (ready) return pythonIn(ready.home)
  if (!mayMake) throw new Error('its Python environment is not there yet; npm start makes it')
  return make(kinds.demo)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isDemo = process.argv.includes('--demo')
  try {
    console.log(isDemo ? demoPython({ mayMake: !process.argv.includes('--ready') }) : pythonEnv())
  } catch (error) {
    say(isDemo ? error.message : `The Python client cannot be tested here: ${error.message}.`)
    process.exit(1)
  }
}
