// npm run test:faults: injects the faults of the table one by one under load, and prints what was seen.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'
import { fewAtOnce } from '../support/few-at-once.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    worker: { type: 'string' },
    caller: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'string' },
    subset: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    bug: { type: 'string' },
    'rows-only': { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults -- [options]

Runs all rows of the fault table, then every planted bug in the row that must show it.

  --subset          the rows that npm test runs, without planted bugs; checks that the planted bugs still fit the code
  --only F04,F13    only these rows; no planted bugs unless --planted is given too
  --rows-only       no planted bugs
  --planted         only planted bugs, each in the row that must show it
  --bug 'no reconcile'  only the planted bugs whose names contain this text
  --worker python   workers in another language, for these rows
  --caller python   callers in another language
  --seed 7          repeats the load and the choices of a run; the default is printed
  --json <file>     writes all results there
  --quick           less time after each fault
  --at-once 2       runs this many rows at the same time; planted bugs that lose calls still run one by one
  --keep            keeps the journals of all trials, not only of those with violations`)
  process.exit(0)
}

// So that the servers it started end with it; callers and workers see that it is gone.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

prepare()
const { rows, subset } = await import('./rows/index.mjs')
const { runTrial } = await import('./harness/trial.mjs')
const { detailsOf, tableOf } = await import('./harness/report.mjs')
const { bugs, fits, plant } = await import('./planted/bugs.mjs')
const { jobBugs } = await import('./planted/job-bugs.mjs')
const { loadLanguage } = await import('../conformance/language.mjs')

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const { quick, keep } = values
const rowsAtOnce = Number(values['at-once'])
if (!/^[1-9]$/.test(values['at-once'])) {
  console.error('--at-once takes a number from 1 to 9.')
  process.exit(2)
}

/** Undefined for the project's own. Ends this program where the language cannot be had. */
const languageOf = (name, command) => {
  if (name === undefined) return undefined
  try {
    const language = loadLanguage(name)
    if (!language[command]) throw new Error(`its conformance.json names no '${command}'`)
    return language
  } catch (error) {
    console.error(`${name} cannot be tried here: ${error.message}`)
    process.exit(3)
  }
}
const workerCommand = languageOf(values.worker, 'faultWorker')
const callerCommand = languageOf(values.caller, 'caller')

const chosenRows = () => {
  const wanted = values.subset ? subset : values.only?.split(',')
  const unknown = wanted?.filter(id => !rows.some(row => row.id === id)) ?? []
  if (unknown.length > 0) {
    console.error(`There is no row ${unknown.join(', ')}. Rows: ${rows.map(({ id }) => id).join(', ')}`)
    process.exit(2)
  }
  return wanted ? rows.filter(({ id }) => wanted.includes(id)) : rows
}

const tell = result => {
  const { id, title, violations, calls, seconds } = result
  const verdict = violations.length === 0 ? 'ok' : `${violations.length} violations`
  console.log(`${id} ${title}: ${verdict}, ${calls} calls, ${seconds} s`)
  console.log(detailsOf(result))
}

const runRow = row => runTrial(row, { seed, quick, keep, workerCommand, callerCommand })

/** Why a row cannot be run here, if it cannot. */
const lackOf = ({ needs, isOwnOnly }) => {
  if (isOwnOnly && (workerCommand || callerCommand)) return 'other languages do not have this'
  try {
    needs?.()
    return undefined
  } catch (error) {
    return error.message
  }
}

/** Tells of each that cannot be run, and returns the others. */
const runnable = chosen =>
  chosen.filter(row => {
    const lack = lackOf(row)
    if (lack) console.log(`${row.id} ${row.title}: NOT RUN, ${lack}`)
    return !lack
  })

const runRows = async chosen => {
  const results = await fewAtOnce(runnable(chosen), rowsAtOnce, runRow, tell)
  if (results.length > 0) console.log(`\n${tableOf(results)}\n`)
  return results
}

/** The bug must be seen, by what it breaks, in the row made for it. */
const runPlanted = async bug => {
  const { dist, remove } = plant(bug)
  const row = rows.find(({ id }) => id === bug.row)
  const options = {
    seed,
    quick,
    keep,
    [bug.isOfCallers ? 'callerDist' : 'dist']: dist,
    expectsViolations: true,
    shows: bug.breaks,
  }
  const { violations, calls } = await runTrial(row, options)
  remove()
  const count = violations.filter(({ invariant }) => bug.breaks.includes(invariant)).length
  const verdict = count > 0 ? `caught, ${count} times` : 'NOT CAUGHT'
  const title = `planted '${bug.name}' (${bug.what}) in ${bug.row}: ${verdict}`
  // What was seen instead may be why: a row that could not be set up shows nothing.
  const missed = count > 0 ? [] : [{ invariant: 'planted', what: 'not caught' }, ...violations]
  return { id: `planted ${bug.name}`, title, calls, violations: missed }
}

const tellPlanted = ({ title, violations }) => {
  console.log(title)
  for (const { invariant, what } of violations.slice(1, 5)) console.log(`   instead ${invariant}: ${what}`)
}

console.log(`seed ${seed}`)
const chosen = chosenRows()
const isShown = ({ row, name }) =>
  name.includes(values.bug ?? '') && chosen.some(({ id, ...its }) => id === row && lackOf(its) === undefined)
const hasPlanted =
  !workerCommand && !callerCommand && (values.planted || !(values.only || values.subset || values['rows-only']))
// First of all: a bug that no longer fits the code is found at once.
for (const bug of [...bugs, ...jobBugs]) fits(bug)
const planted = hasPlanted ? bugs.filter(isShown) : []
// Alone, whatever is allowed: a call that was lost beside a process without processor would count as late only.
const isAlone = ({ breaks }) => breaks.includes('lost')
const results = [
  ...(values.planted ? [] : await runRows(chosen)),
  ...(await fewAtOnce(planted.filter(isAlone), 1, runPlanted, tellPlanted)),
  ...(await fewAtOnce(
    planted.filter(bug => !isAlone(bug)),
    rowsAtOnce,
    runPlanted,
    tellPlanted,
  )),
]
const calls = results.reduce((sum, result) => sum + result.calls, 0)
const bad = results.filter(({ violations }) => violations.length > 0)
console.log(`${calls} calls, seed ${seed}`)
console.log(`${results.length - bad.length} passed, ${bad.length} failed`)
if (values.json) {
  const counts = { passed: results.length - bad.length, failed: bad.length }
  writeFileSync(values.json, JSON.stringify({ seed, calls, ...counts, results }, null, 2))
}
process.exit(bad.length > 0 ? 1 : 0)
