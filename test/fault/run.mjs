// npm run test:faults: injects the faults of the table one by one under load, and prints what was seen.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'string' },
    subset: { type: 'boolean', default: false },
    retries: { type: 'string', default: '0' },
    quick: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults -- [options]
  --only F04,F13    these rows alone, and no planted bugs
  --subset          those of npm test
  --seed 7          repeats a run's load and choices; the default is printed
  --json <file>     writes all results there
  --planted         no rows; shows that the five planted bugs are caught
  --quick           less time after each fault
  --retries 1       a row with violations has another try
  --keep            keeps the journals of all trials, not only of those with violations`)
  process.exit(0)
}

prepare()
const { rows, subset } = await import('./rows/index.mjs')
const { runTrial } = await import('./harness/trial.mjs')
const { detailsOf, tableOf } = await import('./harness/report.mjs')
const { bugs, plant } = await import('./planted/bugs.mjs')

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const { quick, keep } = values

const chosenRows = () => {
  const wanted = values.subset ? subset : values.only?.split(',')
  const unknown = wanted?.filter(id => !rows.some(row => row.id === id)) ?? []
  if (unknown.length > 0) {
    console.error(`There is no row ${unknown.join(', ')}. Rows: ${rows.map(({ id }) => id).join(', ')}`)
    process.exit(2)
  }
  return wanted ? rows.filter(({ id }) => wanted.includes(id)) : rows
}

const tell = (row, result) => {
  const verdict = result.violations.length === 0 ? 'ok' : `${result.violations.length} violations`
  console.log(`${row.id} ${row.title}: ${verdict}, ${result.calls} calls, ${result.seconds} s`)
  console.log(detailsOf(result))
}

const runRows = async () => {
  const results = [...(values.planted ? [] : await runRows()), ...(values.only ? [] : await runPlanted())]
const calls = results.reduce((sum, result) => sum + result.calls, 0)
const bad = results.filter(({ violations }) => violations.length > 0)
console.log(`${calls} calls, seed ${seed}`)
console.log(`${results.length - bad.length} passed, ${bad.length} failed`)
if (values.json) {
  const counts = { passed: results.length - bad.length, failed: bad.length }
  writeFileSync(values.json, JSON.stringify({ seed, calls, ...counts, results }, null, 2))
}
process.exit(bad.length > 0 ? 1 : 0)
