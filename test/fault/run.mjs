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
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults -- [options]
  --only F04,F13    these rows alone
  --seed 7          repeats a run's load and choices; the default is printed
  --json <file>     writes all results there
  --quick           shorter faults
  --keep            keeps the journals of all trials, not only of those with violations`)
  process.exit(0)
}

prepare()
const { rows } = await import('./rows/index.mjs')
const { runTrial } = await import('./harness/trial.mjs')
const { detailsOf, tableOf } = await import('./harness/report.mjs')

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const wanted = values.only?.split(',')
const unknown = wanted?.filter(id => !rows.some(row => row.id === id)) ?? []
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(', ')}. Rows: ${rows.map(({ id }) => id).join(', ')}`)
  process.exit(2)
}
const chosen = wanted ? rows.filter(({ id }) => wanted.includes(id)) : rows
console.log(`${chosen.length} faults, seed ${seed}`)

const results = []
for (const row of chosen) {
  const result = await runTrial(row, { seed, quick: values.quick, keep: values.keep })
  results.push(result)
  const verdict = result.violations.length === 0 ? 'ok' : `${result.violations.length} violations`
  console.log(`${row.id} ${row.title}: ${verdict}, ${result.calls} calls, ${result.seconds} s`)
  console.log(detailsOf(result))
}
console.log(`\n${tableOf(results)}\n`)
const calls = results.reduce((sum, result) => sum + result.calls, 0)
const bad = results.filter(({ violations }) => violations.length > 0)
console.log(`${calls} calls, seed ${seed}`)
console.log(`${results.length - bad.length} passed, ${bad.length} failed`)
if (values.json) writeFileSync(values.json, JSON.stringify({ seed, calls, results }, null, 2))
process.exit(bad.length > 0 ? 1 : 0)
