// npm run test:faults: injects the faults of the table one by one under load, and prints what was seen.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults -- [options]
  --only F04,F13    these rows alone
  --seed 7          repeats a run's load and choices; the default is printed
  --json <file>     writes all results there
  --planted         no rows; shows that the five planted bugs are caught
  --all             the rows and the planted bugs
  --quick           shorter faults
  --keep            keeps the journals of all trials, not only of those with violations`)
  process.exit(0)
}

prepare()
const { rows } = await import('./rows/index.mjs')
const { runTrial } = await import('./harness/trial.mjs')
const { detailsOf, tableOf } = await import('./harness/report.mjs')
const { bugs, plant } = await import('./planted/bugs.mjs')

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const { quick, keep } = values

const chosenRows = () => {
  const wanted = values.only?.split(',')
  const unknown = wanted?.filter(id => !rows.some(row => row.id === id)) ?? []
  if (unknown.length > 0) {
    console.error(`There is no row ${unknown.join(', ')}. Rows: ${rows.map(({ id }) => id).join(', ')}`)
    process.exit(2)
  }
  return wanted ? rows.filter(({ id }) => wanted.includes(id)) : rows
}

const runRows = async () => {
  const results = []
  for (const row of chosenRows()) {
    const result = await runTrial(row, { seed, quick, keep })
    results.push(result)
    const verdict = result.violations.length === 0 ? 'ok' : `${result.violations.length} violations`
    console.log(`${row.id} ${row.title}: ${verdict}, ${result.calls} calls, ${result.seconds} s`)
    console.log(detailsOf(result))
  }
  console.log(`\n${tableOf(results)}\n`)
  return results
}

/** Each bug must be seen in the row made for it; that the row is clean without the bug is what the rows themselves show. */
const runPlanted = async () => {
  const results = []
  for (const bug of bugs) {
    const planted = plant(bug)
    const row = rows.find(({ id }) => id === bug.row)
    const { violations, calls } = await runTrial(row, {
      seed,
      quick,
      keep,
      dist: planted.dist,
      expectsViolations: true,
    })
    planted.remove()
    const kinds = new Map()
    for (const { invariant } of violations) kinds.set(invariant, (kinds.get(invariant) ?? 0) + 1)
    const seen = [...kinds].map(([invariant, count]) => `${invariant} ${count} times`).join(', ')
    console.log(`planted '${bug.name}' (${bug.what}) in ${bug.row}: ${seen ? `caught by ${seen}` : 'NOT CAUGHT'}`)
    results.push({
      id: `planted ${bug.name}`,
      calls,
      violations: seen ? [] : [{ invariant: 'planted', what: 'not caught' }],
    })
  }
  return results
}

console.log(`seed ${seed}`)
const results = [
  ...(values.planted ? [] : await runRows()),
  ...(values.planted || values.all ? await runPlanted() : []),
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
