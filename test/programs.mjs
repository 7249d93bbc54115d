// The programs that suites are made of, and how their reports are read.
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../tools/prepare.mjs'

/** A suite that runs a file with Node. */
export const node = (title, file, ...args) => ({ title, program: process.execPath, args: [file, ...args] })

/** A suite, or a list of them; none where `make` throws what this machine lacks. */
export const ifPossible = (title, make) => {
  try {
    return [make()].flat()
  } catch (error) {
    console.log(`${title} cannot run here: ${error.message}.`)
    return []
  }
}

const ofPackage = name => join(root, 'node_modules', name)
const tsc = ofPackage('typescript/bin/tsc')

export const vitestProgram = ofPackage('vitest/vitest.mjs')

export const typeCheck = node('type check', tsc, '--noEmit')
export const pagesTypeCheck = node('type check of the pages', tsc, '--noEmit', '-p', 'registry/web/tsconfig.json')
export const lint = node('lint and format', ofPackage('@biomejs/biome/bin/biome'), 'check', '.')

/** Tests that only test:all runs. */
export const longFiles = '**/*.long.test.ts'

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

/** Tests as a suite that leaves its report in a folder. */
export const vitest = (reportDir, title, name, cpuBudget, ...args) => {
  const path = join(reportDir, `${name}.json`)
  const reporters = ['default', 'json'].map(name => `--reporter=${name}`)
  return {
    ...node(title, vitestProgram, 'run', ...reporters, `--outputFile.json=${path}`, ...args),
    cpuBudget,
    counts() {
      const report = JSON.parse(readFileSync(path, 'utf8'))
      const { numPassedTests, numFailedTests, numPendingTests } = report
      return {
        passed: numPassedTests,
        failed: numFailedTests,
        skipped: numPendingTests,
        failures: failuresOf(report),
      }
    },
  }
}

const entities = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", '#10': '\n' }
const attribute = (name, text) => {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? ''
  return value.replace(/&(\w+|#10);/g, (whole, entity) => entities[entity] ?? whole)
}

/** Reads a JUnit report, as pytest and minitest write it. */
export const countsOfJunit = report => {
  const text = readFileSync(report, 'utf8')
  const [head] = /<testsuite [^>]*>/.exec(text)
  const number = name => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const failed = number('failures') + number('errors')
  const skipped = number('skipped')
  const found = text.matchAll(/<testcase ([^>]*)>\s*<(?:failure|error)([^>]*)/g)
  const failures = [...found].map(([, test, failure]) => ({
    name: attribute('name', test),
    message: attribute('message', failure),
  }))
  return { passed: number('tests') - failed - skipped, failed, skipped, failures }
}
