// Clients in other languages: each one's own tests, and all pairs of caller and worker. A language that cannot be had on this
// machine is said to be missing, with the reason, and fails nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'
import { pythonEnv } from '../tools/python-env.mjs'
import { rubyEnv } from '../tools/ruby-env.mjs'

/** `command` makes what it needs and returns its tests as a program and arguments; they write a JUnit report. */
const languages = [
  {
    name: 'python',
    title: 'Python client',
    folder: 'clients/python',
    command: report => [pythonEnv(), ['-m', 'pytest', '-q', `--junitxml=${report}`]],
  },
  {
    name: 'ruby',
    title: 'Ruby client',
    folder: 'clients/ruby',
    command: report => [rubyEnv(), ['test/run.rb', `--junit=${report}`]],
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
const stepOf = ({ name, title, folder, command }, reportDir) => {
  const report = join(reportDir, `${name}.xml`)
  try {
    const [program, args] = command(report)
    return { name, title, program, args, cwd: join(root, folder), counts: () => countsOf(report) }
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
  const own = languages.map(language => stepOf(language, reportDir)).filter(Boolean)
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
