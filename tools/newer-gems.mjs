// Gems of a newer Debian than this one may be, for tests beside those that are installed. They are unpacked into test/artifacts and taken
// from the mirror that apt is set up with; nothing is installed. `node tools/newer-gems.mjs` prints the folders of the gems.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onPath } from './apt.mjs'
import { artifactFolder } from './fetched.mjs'

const release = 'trixie'
/** redis 5.3 on redis-client 0.22, and Active Job 7.2 with what it loads. */
const packages = [
  ...['ruby-redis', 'ruby-redis-client', 'ruby-connection-pool'],
  ...['ruby-activejob', 'ruby-activesupport', 'ruby-globalid'],
]

const folder = artifactFolder('gems', release)
const gems = join(folder, 'usr/share/rubygems-integration/all/gems')
const firstError = error => String(error.stderr || error.message).match(/^E: .*$/m)?.[0] ?? error.message.split('\n')[0]

/** The mirrors of Debian that this machine's apt asks. */
const mirrors = () => {
  const ask = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', 'Component: main']
  const told = execFileSync('apt-get', [...ask, 'Origin: Debian', 'Label: Debian'], { encoding: 'utf8' })
  return [...new Set(told.split('\n').filter(Boolean))]
}

const fetchInto = target => {
  const [mirror] = mirrors()
  if (!mirror) throw new Error("apt knows no mirror of Debian; run 'apt-get update'")
  const own = name => join(target, 'apt', name)
  for (const name of ['lists/partial', 'archives/partial', 'debs']) mkdirSync(own(name), { recursive: true })
  writeFileSync(own('sources.list'), `deb ${mirror} ${release} main\n`)
  const options = {
    'Dir::Etc::sourcelist': own('sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': own('lists'),
    'Dir::Cache': own(''),
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'APT::Sandbox::User': 'root',
  }
  const apt = (...args) =>
    execFileSync(
      'apt-get',
      ['-qq', ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]), ...args],
      {
        cwd: own('debs'),
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
  apt('update')
  apt('download', ...packages.map(name => `${name}/${release}`))
  for (const file of readdirSync(own('debs'))) execFileSync('dpkg-deb', ['-x', join(own('debs'), file), target])
  rmSync(join(target, 'apt'), { recursive: true })
}

/**
 * @returns {string} what RUBYLIB has to be for a Ruby to take these gems
 * @throws Error with the reason, in one sentence, where they cannot be had
 */
export const newerGems = () => {
  if (!existsSync(folder)) {
    for (const program of ['apt-get', 'dpkg-deb'])
      if (!onPath(program))
        throw new Error(`newer gems are unpacked from packages of Debian, and there is no ${program}`)
    console.error(`Fetching the gem redis 5 from Debian ${release} (once) ...`)
    const unfinished = `${folder}.${process.pid}`
    try {
      fetchInto(unfinished)
      renameSync(unfinished, folder)
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true })
      throw new Error(`gems of Debian ${release} could not be fetched: ${firstError(error)}`)
    }
  }
  return readdirSync(gems)
    .map(name => join(gems, name, 'lib'))
    .filter(path => existsSync(path))
    .join(delimiter)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(newerGems())
  } catch (error) {
    console.error(`The Ruby client is not tested with newer gems here: ${error.message}.`)
    process.exit(1)
  }
}
