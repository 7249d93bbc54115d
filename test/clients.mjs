// Clients in other languages: each one's own tests, and all pairs of caller and worker. A language that cannot be had on this
// machine is said to be missing, with the reason, and fails nothing.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'
import { pythonEnv } from '../tools/python-env.mjs'
import { rubyEnv } from '../tools/ruby-env.mjs'

/**
 * `command` makes what it needs and returns its tests as a program and arguments; they write a JUnit report. `only` are the
 * arguments that have it run those alone that failed before, by name.
 */
const languages = [
  {
    name: 'python',
    title: 'Python client',
    folder: 'clients/python',
    command: report => [pythonEnv(), ['-m', 'pytest', '-q', `--junitxml=${report}`]],
    only: () => ['--last-failed'],
  },
  {
    name: 'ruby',
    title: 'Ruby client',
    folder: 'clients/ruby',
    command: report => [rubyEnv(), ['test/run.rb', `--junit=${report}`]],
    only: names => ['-n', `/^(${names.join('|')})$/`],
  },
]

const countsOf = report => {
  const text = readFileSync(report, 'utf8')
  const [head] = /<testsuite [^>]*>/.exec(text)
  const number = name => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const failed = number('failures') + number('errors')
  const found = text.matchAll(/<testcase ([^>]*)>\s*<(?:failure|error)([^>]*)/g)
  const failures = [...found].map(([, test, failure]) => ({
    name: attribute('name', test),
    message: attribute('message', failure),
  }))
  return { passed: number('tests') - failed - number('skipped'), failed, failures }
}

const entities = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", '#10': '\n' }
const attribute = (name, text) => {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? ''
  return value.replace(/&(\w+|#10);/g, (whole, entity) => entities[entity] ?? whole)
}

/** The tests of a language as a step, or undefined where it cannot be had. */
const stepOf = ({ name, title, folder, command, only }, reportDir, retries) => {
  const cwd = join(root, folder)
  const stepFor = (report, more, left) => {
    const [program, args] = command(report)
    const again = () => {
      const names = existsSync(report) ? countsOf(report).failures.map(failure => failure.name) : []
      return names.length > 0 ? stepFor(`${report}.again`, only(names), left - 1) : undefined
    }
    const counts = () => countsOf(report)
    return { name, title, program, args: [...args, ...more], cwd, counts, again: left > 0 ? again : undefined }
  }
  try {
    return stepFor(join(reportDir, `${name}.xml`), [], Number(retries))
  } catch (error) {
    console.log(`The ${title} will not be tested: ${error.message}.`)
    return undefined
  }
}

/**
 * Makes what the languages need here, one after another, because package managers do not work beside each other.
 * @returns `own`: steps, the tests of each language; `conformance`: the step of all pairs
 */
export const clientSteps = (reportDir, retries) => {
  const own = languages.map(language => stepOf(language, reportDir, retries)).filter(Boolean)
  const report = join(reportDir, 'conformance.json')
  const names = ['typescript', ...own.map(({ name }) => name)]
  const conformance = {
    title: 'conformance',
    program: process.execPath,
    args: ['test/conformance/run.mjs', ...names, '--retries', retries, '--json', report],
    counts: () => JSON.parse(readFileSync(report, 'utf8')),
  }
  return { own, conformance }
}
