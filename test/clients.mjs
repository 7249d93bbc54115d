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
  const [head] = /<testsuite [^>]*>/.exec(readFileSync(report, 'utf8'))
  const number = name => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const failed = number('failures') + number('errors')
  return { passed: number('tests') - failed - number('skipped'), failed }
}

/**
 * @param step runs a program under a title, with its output on this terminal
 * @returns how many tests passed and failed, and which reports are missing
 */
export const testClients = async (step, reportDir) => {
  const total = { passed: 0, failed: 0, missing: [] }
  const add = (title, read) => {
    try {
      const { passed, failed } = read()
      total.passed += passed
      total.failed += failed
    } catch {
      total.missing.push(`${title} wrote no report`)
    }
  }
  const tried = ['typescript']
  for (const { name, title, folder, command } of languages) {
    const report = join(reportDir, `${name}.xml`)
    try {
      const [program, args] = command(report)
      step(title, program, args, join(root, folder))
      add(title, () => countsOf(report))
      tried.push(name)
    } catch (error) {
      console.log(`\nThe ${title} was not tested: ${error.message}.`)
    }
  }
  const report = join(reportDir, 'conformance.json')
  const retries = process.env.CI ? '1' : '0'
  step('conformance', process.execPath, ['test/conformance/run.mjs', ...tried, '--retries', retries, '--json', report])
  add('conformance', () => JSON.parse(readFileSync(report, 'utf8')))
  return total
}
