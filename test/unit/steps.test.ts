import { mkdtempSync, rmSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Steps } from '../steps.mjs'

let folder: string
let printed: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-steps-'))
  printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    printed += text
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

/** A step that runs this text; `tell` and `hear` let it wait for another one. */
const step = (title: string, text: string, counts?: () => object) => {
  const helpers = `const { existsSync, writeFileSync } = require('node:fs')
    const tell = name => writeFileSync('${folder}/' + name, '')
    const hear = async name => { while (!existsSync('${folder}/' + name)) await new Promise(done => setTimeout(done, 5)) }`
  return { title, program: process.execPath, args: ['-e', `${helpers}; (async () => { ${text} })()`], counts }
}

describe('steps beside each other', () => {
  it('leave the processor to the others where they give way', async () => {
    const asked = "console.log('priority ' + require('node:os').getPriority())"
    await new Steps(folder).beside([step('usual', asked), { ...step('last', asked), givesWay: true }])
    const [usual, last] = [...printed.matchAll(/priority (\d+)/g)].map(([, priority]) => Number(priority))
    expect(usual).toBe(getPriority())
    expect(last).toBeGreaterThan(usual!)
  })

  it('do not mix their output: each is told whole, with its errors, when it ends', async () => {
    const slow = step('slow', "console.log('a1'); tell('a'); await hear('b'); console.error('a2')")
    const quick = step('quick', "await hear('a'); console.log('b1')")
    const next = step('next', "console.log('c1'); tell('b')")
    await new Steps(folder).beside([slow], [quick, next])
    const sections = printed.replaceAll(/ \d+ s\n/g, '\n').split('\n== ')
    // The last two end at the same time.
    expect(sections.sort()).toEqual(['', 'next,\nc1\n', 'quick,\nb1\n', 'slow,\na1\na2\n'])
    expect(printed.indexOf('quick')).toBeLessThan(printed.indexOf('slow'))
  })

  it('name each that failed, could not be started or wrote no report, and add up the rest', async () => {
    const steps = new Steps(folder)
    const missing = { title: 'missing', program: join(folder, 'nothing'), args: [] }
    const noReport = () => {
      throw new Error('no such file')
    }
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    await steps.beside(
      [
        step('good', '', () => ({ passed: 3, failed: 0, skipped: 1 })),
        step('bad', 'process.exit(3)', () => ({ passed: 2, failed: 1, failures: [{ name: 'a', message: 'b' }] })),
      ],
      [
        missing,
        step('killed', "process.kill(process.pid, 'SIGKILL'); await hear('never')"),
        step('mute', '', noReport),
      ],
    )
    const { failed, ...tests } = steps.sum()
    expect(failed.sort()).toEqual(['bad', 'killed', 'missing', 'mute wrote no report'])
    const failures = [{ name: 'a', message: 'b' }]
    expect(tests).toEqual({ failures, retried: [], passedTests: 5, failedTests: 1, skippedTests: 1 })
    const rows = steps.table().split('\n')
    expect(
      rows
        .filter(row => row.endsWith('failed'))
        .map(row => row.split(' ')[0])
        .sort(),
    ).toEqual(['bad', 'killed', 'missing'])
    expect(rows).toHaveLength(5)
  })

  it('run what failed once more when all else has ended, and count it as one', async () => {
    const steps = new Steps(folder)
    const fails = 'process.exit(1)'
    const healed = { ...step('healed', '', () => ({ passed: 1, failed: 0 })) }
    const bad = {
      ...step('still bad', fails, () => ({ passed: 1, failed: 1, failures: [{ name: 'a', message: 'b' }] })),
    }
    const twice = ['d', 'e'].map(message => ({ name: 'c', message }))
    const first = { passed: 5, failed: 2, failures: twice, retried: [] }
    await steps.beside(
      [{ ...step('heals', fails, () => first), again: () => healed }],
      [{ ...step('does not', fails, () => ({ passed: 5, failed: 2 })), again: () => bad }],
      [{ ...step('has nothing to run', fails, () => first), again: () => undefined }],
    )
    expect(steps.sum().failed).toHaveLength(3)
    await steps.tryAgain()
    const { failed, failures, retried, ...counts } = steps.sum()
    expect(failed.sort()).toEqual(['does not', 'has nothing to run'])
    expect(failures.map(({ name }) => name).sort()).toEqual(['a', 'c', 'c'])
    expect(retried).toEqual(['heals: c'])
    expect(counts).toEqual({ passedTests: 6 + 6 + 5, failedTests: 0 + 1 + 2, skippedTests: 0 })
    expect(steps.table().split('\n')).toHaveLength(3)
  })

  it('without any test are a failure', async () => {
    const steps = new Steps(folder)
    await steps.beside([step('good', '')])
    expect(steps.sum().failed).toEqual(['no test ran'])
  })
})
