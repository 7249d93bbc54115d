// What lints the Ruby client: rubocop of the one version that clients/ruby/.rubocop.yml is written for, found here or installed with apt.
// `node tools/ruby-lint.mjs` prints the command, or says plainly why there is none.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installPackages, mayInstallPackages } from './apt.mjs'

/** Others know other rules: what is clean for one is not for the next. */
const version = '1.39'

/** What lacks, in a few words; undefined when it will do. */
const lackOf = command => {
  try {
    const told = execFileSync(command, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
    return told.startsWith(`${version}.`) ? undefined : `it is ${told}, and ${version} is needed`
  } catch (error) {
    return error.code === 'ENOENT' ? 'it is not there' : String(error.stderr ?? error.message).trim()
  }
}

/**
 * PSHUB_TEST_RUBOCOP names one outright.
 * @returns {string} the command
 * @throws Error with the reason, in one sentence, where it cannot be had
 */
export const rubyLinter = () => {
  const named = process.env.PSHUB_TEST_RUBOCOP
  const command = named ?? 'rubocop'
  let lack = lackOf(command)
  if (lack === 'it is not there' && !named && mayInstallPackages()) {
    try {
      installPackages('rubocop')
      lack = lackOf(command)
    } catch (error) {
      lack = `${lack}, and apt-get could not install it (${String(error.message).split('\n')[0]})`
    }
  }
  if (lack) throw new Error(`${command} will not do: ${lack}`)
  return command
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(rubyLinter())
  } catch (error) {
    console.error(`The Ruby client cannot be linted here: ${error.message}.`)
    process.exit(1)
  }
}
