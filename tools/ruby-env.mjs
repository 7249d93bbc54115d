// What the Ruby client's tests need: ruby 3.0 or newer with the gems redis, fugit and minitest, and Lua 5.1, found here or installed with apt.
// `node tools/ruby-env.mjs` prints the interpreter, or says plainly why there is none.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages, mayInstallPackages } from './apt.mjs'
import { root } from './prepare.mjs'

const say = line => console.error(line)

/** Raises LoadError for what lacks; so the last line of stderr names it. */
const probe = [
  "abort 'it is older than 3.0' if Gem::Version.new(RUBY_VERSION) < Gem::Version.new('3.0')",
  "require 'minitest'",
  "require 'redis'",
  // For schedules alone; what is tested is with them.
  "require 'fugit'",
  'version = Gem::Version.new(Redis::VERSION)',
  "fits = Gem::Requirement.new('>= 4.8', '< 7').satisfied_by?(version) && !%w[5.0 5.1].include?(Redis::VERSION[0, 3])",
  "abort 'its gem redis is ' + Redis::VERSION + '; 4.8, or 5.2 to 6, is needed' unless fits",
  // For the Redis in memory, which tests without Redis have.
  `require ${JSON.stringify(join(root, 'clients/ruby/lib/pshub/testing/memory/lua'))}`,
  "begin; Pshub::Lua.functions; rescue Pshub::ConfigError; abort 'there is no Lua 5.1 (liblua5.1-0)'; end",
].join('\n')

/** What `command` lacks, in a few words; undefined when it will do. */
const lackOf = command => {
  try {
    execFileSync(command, ['-e', probe], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 30_000 })
    return undefined
  } catch (error) {
    if (error.code === 'ENOENT') return 'it is not there'
    const told = String(error.stderr ?? error.message)
    const gem = /cannot load such file -- (\S+)/.exec(told)?.[1]
    return gem ? `it has no gem ${gem}` : told.trim().split('\n').at(-1)
  }
}

/**
 * The interpreter that runs the Ruby client and its tests. PSHUB_TEST_RUBY names one outright.
 * @returns {string} the command
 * @throws Error with the reason, in one sentence, where it cannot be had
 */
export const rubyEnv = () => {
  const named = process.env.PSHUB_TEST_RUBY
  const command = named ?? 'ruby'
  let lack = lackOf(command)
  if (lack && !named && mayInstallPackages()) {
    try {
      installPackages('ruby', 'ruby-redis', 'ruby-fugit', 'ruby-minitest', 'liblua5.1-0')
      lack = lackOf(command)
    } catch (error) {
      lack = `${lack}, and apt-get could not install it (${String(error.message).split('\n')[0]})`
    }
  }
  if (lack)
    throw new Error(
      `${command} will not do: ${lack}; ruby 3.0 or newer with the gems redis, fugit and minitest, and Lua 5.1 are needed`,
    )
  return command
}

/**
 * Rails, for the tests of what the client does in it; where it cannot be had, those skip.
 * @throws Error with the reason
 */
export const railsEnv = () => {
  const load = () => execFileSync(rubyEnv(), ['-e', 'require "rails"; require "active_job"'], { stdio: 'pipe' })
  try {
    load()
  } catch {
    if (!mayInstallPackages()) throw new Error('there are no gems rails and activejob')
    installPackages('ruby-railties', 'ruby-activejob')
    load()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(rubyEnv())
  } catch (error) {
    say(`The Ruby client cannot be tested here: ${error.message}.`)
    process.exit(1)
  }
}
