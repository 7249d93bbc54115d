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
    retries: { type: 'string', default: '0' },
    quick: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    'rows-only': { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults -- [options]
  --only F04,F13    these rows alone, and no planted bugs unless --planted is given too
  --worker python   workers of another language, for these rows
  --caller python   callers of another language
  --subset          those of npm test, and those that planted bugs are shown in
  --seed 7          repeats a run's load and choices; the default is printed
  --json <file>     writes all results there
  --planted         the planted bugs, and their rows without them
  --rows-only       no planted bugs: it is only looked whether they still fit the code
  --quick           less time after each fault
  --retries 1       a row with violations has another try
  --at-once 2       so many rows beside each other; planted bugs that lose calls one by one
  --keep            keeps the journals of all trials, not only of those with violations`)
  process.exit(0)
}

// So that the servers it started end with it; callers and workers see that it is gone.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

prepare()
const { rows, subset } = await import('./rows/index.mjs')
const { runTrial } = await import('./harness/trial.mjs')
const { detailsOf, tableOf } = await import('./harness/report.mjs')
const { bugs, plant } = await import('./planted/bugs.mjs')
const { isSeen, noteSeen } = await import('./planted/seen.mjs')
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
  const shown = values['rows-only'] ? [] : bugs.map(({ row }) => row)
  const wanted = values.subset ? [...subset, ...shown] : values.only?.split(',')
  const unknown = wanted?.filter(id => !rows.some(row => row.id === id)) ?? []
  if (unknown.length > 0) {
    console.error(`There is no row ${unknown.join(', ')}. Rows: ${rows.map(({ id }) => id).join(', ')}`)
    process.exit(2)
  }
  return wanted ? rows.filter(({ id }) => wanted.includes(id)) : rows
}

const verdictOf = ({ violations }) => (violations.length === 0 ? 'ok' : `${violations.length} violations`)

const tell = tries => {
  tries.forEach((result, index) => {
    if (index > 0) console.log(`${result.id} once more`)
    console.log(`${result.id} ${result.title}: ${verdictOf(result)}, ${result.calls} calls, ${result.seconds} s`)
    console.log(detailsOf(result))
  })
}

/** One row: all its tries, the last of which counts. */
const tryRow = async row => {
  const tries = [await runTrial(row, { seed, quick, keep, workerCommand, callerCommand })]
  while (tries.length <= Number(values.retries) && tries.at(-1).violations.length > 0)
    tries.push(await runTrial(row, { seed, quick, keep, workerCommand, callerCommand }))
  return tries
}

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
  const tried = await fewAtOnce(runnable(chosen), rowsAtOnce, tryRow, tell)
  const results = tried.map(tries => ({ ...tries.at(-1), tries: tries.length }))
  console.log(`\n${tableOf(results)}\n`)
  return results
}

/** The bug must be seen, by what it breaks, in the row made for it. */
const runPlanted = async ({ bug, dist, remove }) => {
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
// First of all: a bug that no longer fits the code is found at once.
const chosen = chosenRows()
const isShown = ({ row }) => chosen.some(({ id, ...its }) => id === row && lackOf(its) === undefined)
const hasPlanted = !workerCommand && !callerCommand && (values.planted || !values.only)
const isLookedAt = bug => values['rows-only'] || isShown(bug)
let planted = hasPlanted ? bugs.filter(isLookedAt).map(bug => ({ bug, ...plant(bug) })) : []
if (values['rows-only']) {
  for (const { remove } of planted) remove()
  planted = []
  console.log(
    'Planted bugs fit the code; they were caught with this suite and these functions before, and are not run.',
  )
}
// That a planted bug's row is clean without it belongs to the proof.
const withoutBugs = values.planted ? chosen.filter(({ id }) => bugs.some(({ row }) => row === id)) : chosen
// Alone, whatever is allowed: a call that was lost beside a process without processor would count as late only.
const isAlone = ({ bug }) => bug.breaks.includes('lost')
const results = [
  ...(await runRows(withoutBugs)),
  ...(await fewAtOnce(planted.filter(isAlone), 1, runPlanted, tellPlanted)),
  ...(await fewAtOnce(
    planted.filter(each => !isAlone(each)),
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
  const retried = results.filter(({ tries, violations }) => tries > 1 && violations.length === 0).map(({ id }) => id)
  const counts = { passed: results.length - bad.length, failed: bad.length, retried }
  writeFileSync(values.json, JSON.stringify({ seed, calls, ...counts, results }, null, 2))
}
if (planted.length === bugs.length && bad.length === 0 && !isSeen()) {
  noteSeen()
  console.log('All planted bugs were caught: test/fault/planted/seen.json says so now; commit it.')
}
process.exit(bad.length > 0 ? 1 : 0)
