// Clients in other languages: each one's own tests, and all pairs of caller and worker. A language that cannot be had on this
// machine is said to be missing, with the reason, and fails nothing.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'
import { pythonEnv } from '../tools/python-env.mjs'
import { rubyEnv } from '../tools/ruby-env.mjs'
import { rubyLinter } from '../tools/ruby-lint.mjs'

/** A fifth of its time is the processor's: the rest it waits, and so several files wait beside each other. */
const pytest = {
  name: 'python',
  title: 'Python client',
  command: report => [pythonEnv(), ['-m', 'pytest', '-q', '-n', '4', '--dist', 'loadfile', `--junitxml=${report}`]],
  only: () => ['--last-failed'],
}

/** What is looked at without being run: by a program of its own each, which may be missing. */
const pythonChecks = [
  { title: 'Python lint', module: 'ruff', args: ['check', '.'] },
  { title: 'Python format', module: 'ruff', args: ['format', '--check', '.'] },
  { title: 'Python type check', module: 'mypy', args: [] },
]

const hasModule = (python, name) => {
  try {
    execFileSync(python, ['-c', `import ${name}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Their steps; which rules hold is in the client's pyproject.toml. */
const pythonCheckSteps = () => {
  const python = pythonEnv()
  return pythonChecks.flatMap(({ title, module, args }) => {
    if (hasModule(python, module)) {
      return [{ title, program: python, args: ['-m', module, ...args], cwd: join(root, 'clients/python') }]
    }
    console.log(
      `The Python client is not checked by ${module}, which could not be installed; remove clients/python/.venv to try again.`,
    )
    return []
  })
}

/**
 * Of each part of a language's tests `command` makes what they need and returns them as a program and arguments; they write a JUnit
 * report. `only` are the arguments that have it run those alone that failed before, by name.
 */
const languages = [
  {
    language: 'python',
    folder: 'clients/python',
    checks: pythonCheckSteps,
    parts: [pytest],
  },
  {
    language: 'ruby',
    folder: 'clients/ruby',
    parts: [
      {
        name: 'ruby',
        title: 'Ruby client',
        command: report => [rubyEnv(), ['test/run.rb', `--junit=${report}`]],
        only: names => ['-n', `/^(${names.join('|')})$/`],
      },
    ],
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

/** A part of a language's tests as a step. */
const stepOf = ({ name, title, command, only }, cwd, reportDir, retries) => {
  const stepFor = (report, more, left) => {
    const [program, args] = command(report)
    const again = () => {
      const names = existsSync(report) ? countsOf(report).failures.map(failure => failure.name) : []
      return names.length > 0 ? stepFor(`${report}.again`, only(names), left - 1) : undefined
    }
    const counts = () => countsOf(report)
    return { name, title, program, args: [...args, ...more], cwd, counts, again: left > 0 ? again : undefined }
  }
  return stepFor(join(reportDir, `${name}.xml`), [], Number(retries))
}

/** The steps of a language, or none where it cannot be had. */
const stepsOf = ({ folder, parts }, reportDir, retries) => {
  try {
    return parts.map(part => stepOf(part, join(root, folder), reportDir, retries))
  } catch (error) {
    console.log(`The ${parts[0].title} will not be tested: ${error.message}.`)
    return []
  }
}

/** The lint of the Ruby client as a step, or none where the linter cannot be had. */
const rubyLint = () => {
  try {
    const args = ['--cache', 'false', '--format', 'simple']
    return [{ title: 'lint of Ruby', program: rubyLinter(), args, cwd: join(root, 'clients/ruby') }]
  } catch (error) {
    console.log(`The Ruby client will not be linted: ${error.message}.`)
    return []
  }
}

/**
 * Makes what the languages need here, one after another, because package managers do not work beside each other.
 * @returns `checks`: steps that run nothing of a client; `own`: steps, the tests of each language; `conformance`: the step of all pairs
 */
export const clientSteps = (reportDir, retries) => {
  const found = languages
    .map(each => ({ ...each, steps: stepsOf(each, reportDir, retries) }))
    .filter(({ steps }) => steps.length > 0)
  const checks = found.flatMap(each => each.checks?.() ?? [])
  const own = found.flatMap(({ steps }) => steps)
  const report = join(reportDir, 'conformance.json')
  const names = ['typescript', ...found.map(({ language }) => language)]
  const conformance = {
    title: 'conformance',
    program: process.execPath,
    args: ['test/conformance/run.mjs', ...names, '--retries', retries, '--json', report],
    counts: () => JSON.parse(readFileSync(report, 'utf8')),
  }
  return { checks: [...checks, ...rubyLint()], own, conformance }
}
