// The steps of npm test: programs that each pass or fail, one by one or beside each other, and how long each took.
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'

/** One in a thousand may be the machine's doing; more of them are ours. */
const mostRetried = 5

/**
 * A step: `{ title, program, args, cwd?, env?, counts? }`; `counts()` reads from its report how many of its tests passed and failed, and
 * of those that failed, as `failures`, the name and what they said; `retried` are names of those that passed on a second try. `again()`,
 * of one that failed, returns a step that runs these once more, or undefined. One that `givesWay` gets what the others leave of the
 * processor.
 */
export class Steps {
  /** In the order in which they ended. */
  #done = []
  #running = new Map()
  #folder
  #lanes = 0

  /** @param folder where it may keep the output of steps */
  constructor(folder) {
    this.#folder = folder
  }

  /** For whoever gives up waiting, by a signal: tells what runs to end and how far it came, and ends this program. */
  endOnSignals() {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.once(signal, () => {
        this.#interrupt()
        process.exit(130)
      })
    }
  }

  /** One step, with its output on this terminal as it comes. */
  async alone(step) {
    console.log(`\n== ${step.title}`)
    await this.#run(step)
  }

  /** Lists of steps beside each other; those of one list follow one another. Output comes whole, at the end of each step. */
  async beside(...lanes) {
    const runLane = async lane => {
      const path = join(this.#folder, `lane${++this.#lanes}.log`)
      for (const step of lane) await this.#runInTurn(step, path)
    }
    await Promise.all(lanes.map(runLane))
  }

  /**
   * What failed and can be, is run once more, with the machine to itself: what a test waited for in vain beside others, because
   * a process got no turn, would be waited for in vain beside them again. What fails here too is a fault.
   */
  async tryAgain() {
    for (const run of this.#done.filter(({ ok }) => !ok)) {
      const next = run.again?.()
      if (!next) continue
      console.log(`\n${run.title}: what failed is run once more`)
      this.#add(run, await this.#runInTurn(next, join(this.#folder, 'again.log')))
    }
  }

  /** What failed, how many tests did so and which; no test at all is a failure as well. */
  sum() {
    const failed = this.#done.filter(({ ok }) => !ok).map(({ title }) => title)
    const failures = []
    const retried = []
    const total = { passed: 0, failed: 0, skipped: 0 }
    for (const { title, counts } of this.#done.filter(each => each.counts)) {
      try {
        const found = counts()
        for (const kind of Object.keys(total)) total[kind] += found[kind] ?? 0
        failures.push(...(found.failures ?? []))
        retried.push(...(found.retried ?? []))
      } catch {
        failed.push(`${title} wrote no report`)
      }
    }
    if (total.passed === 0) failed.push('no test ran')
    return {
      failed,
      failures,
      retried,
      passedTests: total.passed,
      failedTests: total.failed,
      skippedTests: total.skipped,
    }
  }

  /** Says what failed, what was tried again and what took how long, and ends this program accordingly. */
  report() {
    const { failed, failures, retried, passedTests, failedTests, skippedTests } = this.sum()
    if (retried.length > mostRetried) failed.push(`${retried.length} tests that needed a second try`)
    // Once more at the end: of an output this long the beginning is often cut off.
    for (const { name, message } of failures) {
      const told = message.split('\n').filter(line => !line.includes('node_modules'))
      console.log(`\nFailed: ${name}\n${told.slice(0, 12).join('\n')}`)
    }
    for (const name of retried) console.log(`\nPassed only on its second try: ${name}`)
    console.log(`\n${this.table()}`)
    console.log(failed.length ? `\nFailed: ${failed.join(', ')}` : '\nAll steps passed')
    console.log(`${passedTests} passed, ${failedTests} failed${skippedTests ? `, ${skippedTests} skipped` : ''}`)
    process.exit(failed.length ? 1 : 0)
  }

  /** What took how long. */
  table() {
    const width = Math.max(...this.#done.map(({ title }) => title.length))
    const row = ({ title, seconds, ok }) =>
      `${title.padEnd(width)}  ${String(seconds).padStart(4)} s${ok ? '' : '  failed'}`
    return this.#done.map(row).join('\n')
  }

  #interrupt() {
    for (const [child, { title, path }] of this.#running) {
      child.kill()
      if (path) print(`${title}, interrupted`, path)
    }
  }

  /** Resolves with its entry among those that are done. */
  async #runInTurn(step, path) {
    const run = await this.#run(step, path)
    print(`${step.title}, ${run.seconds} s`, path)
    return run
  }

  /** A second run of what failed counts as a part of the first one. */
  #add(run, rerun) {
    this.#done.splice(this.#done.indexOf(rerun), 1)
    const [before, after] = [run.counts(), rerun.counts()]
    // One test may fail twice: itself, and in what comes after it.
    const names = [...new Set((before.failures ?? []).map(({ name }) => name))]
    run.ok = rerun.ok && after.passed >= Math.max(1, names.length)
    run.seconds += rerun.seconds
    const late = names.map(name => `${run.title}: ${name}`)
    const retried = [...(before.retried ?? []), ...(run.ok ? late : [])]
    run.counts = () => ({ ...after, passed: before.passed + after.passed, skipped: before.skipped, retried })
  }

  /** Resolves with its entry among those that are done. @param path of a file for its output. Not a pipe: a process that it left behind would keep that open. */
  async #run({ title, program, args, cwd = root, env, counts, again, givesWay = false }, path) {
    const startedAt = performance.now()
    const file = path && openSync(path, 'w')
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: path ? ['ignore', file, file] : 'inherit',
    })
    if (path) closeSync(file)
    if (givesWay && child.pid) setPriority(child.pid, constants.priority.PRIORITY_LOW)
    this.#running.set(child, { title, path })
    const ok = await new Promise(resolve => {
      child.once('error', error => {
        console.error(`${title}: ${error.message}`)
        resolve(false)
      })
      child.once('exit', code => resolve(code === 0))
    })
    this.#running.delete(child)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    const run = { title, seconds, ok, counts, again }
    this.#done.push(run)
    return run
  }
}

const print = (head, path) => process.stdout.write(`\n== ${head}\n${readFileSync(path, 'utf8')}`)
