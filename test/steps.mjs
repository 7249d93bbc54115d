// Runs suites: programs that each pass or fail, in lanes beside each other, and says what each took of the clock and of the processor.
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'

/** POSIX `times` knows what a program and all its children took of the processor; Node tells that of no child. */
const timing = '"$@"; code=$?; times >&3; exit $code'

/** CPU seconds in what `times` printed: user and system time of the shell, and on the second line of its children. */
const cpuSecondsIn = text =>
  [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, minutes, seconds]) => sum + 60 * minutes + Number(seconds), 0)

/**
 * A suite: `{ title, program, args, cwd?, env?, counts?, cpuBudget?, isRepeat? }`. `counts()` reads from its report how many tests
 * `passed`, `failed` and were `skipped`, and of those that failed, as `failures`, the name and message. `cpuBudget` is in CPU seconds.
 * `isRepeat`: its tests were counted before, with something else below them.
 */
export class Steps {
  /** In the order in which they ended. */
  #done = []
  #running = new Map()
  #folder
  #startedAt = performance.now()

  /** @param folder where it may keep the output of suites */
  constructor(folder) {
    this.#folder = folder
  }

  /** After a signal, ends what runs, prints its output so far, and ends this program. */
  endOnSignals() {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.once(signal, () => {
        for (const [child, { title, path }] of this.#running) {
          process.kill(-child.pid, 'SIGTERM')
          print(`${title}, interrupted`, path)
        }
        process.exit(130)
      })
    }
  }

  /** Runs lanes of suites beside each other; suites of one lane follow one another. Prints a suite's output when it ends. */
  async run(lanes) {
    const runLane = async (lane, index) => {
      const path = join(this.#folder, `lane${index}.log`)
      for (const suite of lane) {
        const { wallSeconds, cpuSeconds } = await this.#run(suite, path)
        print(`${suite.title}, ${Math.round(wallSeconds)} s, ${Math.round(cpuSeconds)} CPU s`, path)
      }
    }
    await Promise.all(lanes.map(runLane))
  }

  /**
   * Prints failures and what each suite took, and ends this program accordingly.
   * @param {{ holdsBudgets?: boolean }} [options] whether a suite fails that took more of the processor than its budget
   */
  report({ holdsBudgets = false } = {}) {
    const { failed, failures, passed, repeated, failedTests, skipped } = this.#sum(holdsBudgets)
    // Once more at the end: the beginning of a long output is often cut off.
    for (const { name, message } of failures) {
      const told = message.split('\n').filter(line => !line.includes('node_modules'))
      console.log(`\nFailed: ${name}\n${told.slice(0, 12).join('\n')}`)
    }
    console.log(`\n${this.#table()}`)
    console.log(failed.length ? `\nFailed: ${failed.join(', ')}` : '\nAll suites passed')
    const repeats = repeated ? ` (and ${repeated} of them again elsewhere)` : ''
    console.log(`${passed} passed${repeats}, ${failedTests} failed${skipped ? `, ${skipped} skipped` : ''}`)
    process.exit(failed.length ? 1 : 0)
  }

  #sum(holdsBudgets) {
    const failed = this.#done.filter(({ ok }) => !ok).map(({ title }) => title)
    const sum = { failures: [], passed: 0, repeated: 0, failedTests: 0, skipped: 0 }
    for (const { title, counts, isRepeat } of this.#done.filter(each => each.counts)) {
      try {
        const found = counts()
        // A suite that ran nothing is broken, whatever it says.
        if (found.passed + found.failed === 0) failed.push(`${title} (ran no test)`)
        sum[isRepeat ? 'repeated' : 'passed'] += found.passed
        sum.repeated += found.repeated ?? 0
        sum.failedTests += found.failed
        sum.skipped += found.skipped ?? 0
        sum.failures.push(...(found.failures ?? []))
      } catch {
        failed.push(`${title} (wrote no report)`)
      }
    }
    if (holdsBudgets) {
      for (const { title, cpuSeconds, cpuBudget } of this.#done.filter(isOver))
        failed.push(`${title} (${Math.round(cpuSeconds)} CPU s, its budget is ${cpuBudget})`)
    }
    return { ...sum, failed }
  }

  #table() {
    const width = Math.max(...this.#done.map(({ title }) => title.length), 'all'.length)
    const row = (title, wallSeconds, cpuSeconds, note) =>
      `${title.padEnd(width)} ${Math.round(wallSeconds).toString().padStart(5)} s ${Math.round(cpuSeconds).toString().padStart(5)} CPU s${note}`
    const rows = this.#done.map(run => {
      const budget = run.cpuBudget === undefined ? '' : `  of ${run.cpuBudget}${isOver(run) ? ', over its budget' : ''}`
      return row(run.title, run.wallSeconds, run.cpuSeconds, `${budget}${run.ok ? '' : '  failed'}`)
    })
    const cpuSeconds = this.#done.reduce((sum, run) => sum + run.cpuSeconds, 0)
    return [...rows, row('all', (performance.now() - this.#startedAt) / 1000, cpuSeconds, '')].join('\n')
  }

  /** Resolves with its entry among those that are done. Its output goes to a file: a pipe stays open as long as anything it left behind. */
  async #run({ title, program, args, cwd = root, env, counts, cpuBudget, isRepeat }, path) {
    const startedAt = performance.now()
    const timesPath = `${path}.times`
    const [output, times] = [openSync(path, 'w'), openSync(timesPath, 'w')]
    const child = spawn('/bin/sh', ['-c', timing, 'sh', program, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output, times],
      // A process group of its own, so that a signal reaches the program and not only its shell.
      detached: true,
    })
    closeSync(output)
    closeSync(times)
    this.#running.set(child, { title, path })
    const ok = await new Promise(resolve => {
      child.once('error', error => {
        console.error(`${title}: ${error.message}`)
        resolve(false)
      })
      child.once('exit', code => resolve(code === 0))
    })
    this.#running.delete(child)
    const wallSeconds = (performance.now() - startedAt) / 1000
    const run = {
      title,
      wallSeconds,
      cpuSeconds: cpuSecondsIn(readFileSync(timesPath, 'utf8')),
      ok,
      counts,
      cpuBudget,
      isRepeat,
    }
    this.#done.push(run)
    return run
  }
}

const isOver = ({ cpuSeconds, cpuBudget }) => cpuBudget !== undefined && cpuSeconds > cpuBudget

const print = (head, path) => process.stdout.write(`\n== ${head}\n${readFileSync(path, 'utf8')}`)
