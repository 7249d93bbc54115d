// The programs that the steps of npm test and npm run check are made of.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../tools/prepare.mjs'

/** A step that runs a file with Node. */
export const node = (title, file, ...args) => ({ title, program: process.execPath, args: [file, ...args] })

const ofPackage = name => join(root, 'node_modules', name)
const tsc = ofPackage('typescript/bin/tsc')

export const vitestProgram = ofPackage('vitest/vitest.mjs')

export const typeCheck = node('type check', tsc, '--noEmit')
export const pagesTypeCheck = node('type check of the pages', tsc, '--noEmit', '-p', 'registry/web/tsconfig.json')
export const lint = node('lint and format', ofPackage('@biomejs/biome/bin/biome'), 'check', '.')

/** Of files that could not even be loaded too. */
const failuresOf = ({ testResults }) =>
  testResults.flatMap(({ name: file, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    const tests = failed.map(({ fullName, failureMessages }) => ({
      name: fullName,
      message: failureMessages.join('\n'),
    }))
    if (message && tests.length === 0) tests.push({ name: 'as a whole', message })
    return tests.map(({ name, message }) => ({ name: `${relative(root, file)}: ${name}`, message }))
  })

/** The same step with another program or other settings, also when what failed is run again. */
export const altered = (step, settings) => ({
  ...step,
  ...settings,
  again() {
    const next = step.again?.()
    return next && altered(next, settings)
  },
})

const escaped = text => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')

/** Arguments that have those tests alone run again, or undefined where it is not known which. */
const onlyFailed = ({ testResults }) => {
  const failed = testResults.filter(({ status }) => status === 'failed')
  const tests = failed.flatMap(each => each.assertionResults.filter(({ status }) => status === 'failed'))
  if (failed.length === 0) return undefined
  const files = failed.map(({ name }) => relative(root, name))
  // A file that could not even be loaded has no tests to name.
  if (failed.some(each => each.assertionResults.every(({ status }) => status !== 'failed'))) return files
  return [...files, `--testNamePattern=^(${tests.map(({ fullName }) => escaped(fullName)).join('|')})$`]
}

/** Tests as a step that leaves its report in a folder. On shared machines those that failed may be run again. */
export const vitest = (reportDir, title, name, ...args) => {
  const readJson = file => JSON.parse(readFileSync(file, 'utf8'))
  const path = join(reportDir, `${name}.json`)
  const reporters = ['default', 'json', './test/support/retried-reporter.mjs'].map(name => `--reporter=${name}`)
  return {
    ...node(title, vitestProgram, 'run', ...reporters, `--outputFile.json=${path}`, ...args),
    again() {
      if (!process.env.CI || !existsSync(path)) return undefined
      const only = onlyFailed(readJson(path))
      const options = args.filter(arg => arg.startsWith('--') && !arg.startsWith('--exclude'))
      return only && vitest(reportDir, title, `${name}-again`, ...options, ...only)
    },
    counts() {
      const report = readJson(path)
      const { numPassedTests, numFailedTests, numPendingTests } = report
      const counted = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests }
      return { ...counted, failures: failuresOf(report), retried: readJson(`${path}.retried`) }
    },
  }
}
