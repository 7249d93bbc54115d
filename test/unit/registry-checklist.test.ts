import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..', '..')
const rows = readFileSync(join(root, 'docs/registry-checklist.md'), 'utf8')
  .split('\n')
  .filter(line => /^\| [A-Z]/.test(line))
  .map(line => {
    const [what = '', state = '', tests = ''] = line.split(' | ').map(cell => cell.replace(/^\| | ?\|$/g, ''))
    return { what, state, tests: [...tests.matchAll(/`([^`]+)`/g)].map(match => match[1]!) }
  })

describe('the checklist of the registry', () => {
  it('says of each point whether it is met, and what is missing where it is not', () => {
    expect(rows.length).toBeGreaterThan(60)
    for (const { what, state } of rows) expect(state, what).toMatch(/^(met\b.*|in part: .+|not\b.*)$/)
  })

  it('names tests that are there, for all that is met, if only in part', () => {
    for (const { what, state, tests } of rows) {
      expect(tests.length > 0, what).toBe(!state.startsWith('not'))
      for (const test of tests) expect(existsSync(join(root, test)), `${what}: ${test}`).toBe(true)
    }
  })
})
