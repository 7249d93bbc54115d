// npm run conformance -- python typescript: callers and workers of these languages against each other, as PROTOCOL.md says. A language
// is a folder with a conformance.json; see clients/CONFORMANCE.md.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'
import { fewAtOnce } from '../support/few-at-once.mjs'

// So that the servers it started end with it; callers and workers see that nothing comes any more.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

prepare()
const { Redis } = await import('ioredis')
const { startServer } = await import('../../tools/redis-server.mjs')
const { faultChecks } = await import('./checks/faults.mjs')
const { jobChecks } = await import('./checks/jobs.mjs')
const { keyedJobChecks } = await import('./checks/keyed-jobs.mjs')
const { mergedJobChecks } = await import('./checks/merged-jobs.mjs')
const { shardChecks } = await import('./checks/shards.mjs')
const { unansweredCallChecks } = await import('./checks/unanswered-calls.mjs')
const { outcomeChecks } = await import('./checks/outcomes.mjs')
const { streamChecks } = await import('./checks/streams.mjs')
const { valueChecks } = await import('./checks/values.mjs')
const { workerChecks } = await import('./checks/worker.mjs')
const { loadLanguage } = await import('./language.mjs')
const { transcriptChecks } = await import('./transcripts/play.mjs')
const { Pair } = await import('./pair.mjs')

const usage = `npm run conformance -- [options] <language...>

A language is the name of one of the project's own (typescript, python, ruby) or a folder with a conformance.json. Every language is
tried as caller and as worker with every other one and with itself. Checks that need processes of their own, such as faults, run only in
pairs with the first language.

  --ring          each language calls the next one, and the last one the first: every language is once the caller and once the worker.
                  Merged jobs and shards run in the first pair only. This is what npm test runs; npm run test:all runs all pairs.
  --only <text>   only the checks whose name contains the text
  --verbose       also list the checks that passed
  --json <file>   write the results there, for programs`

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ring: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help || positionals.length === 0) {
  console.log(usage)
  process.exit(options.help ? 0 : 2)
}

const languages = []
for (const name of positionals) {
  try {
    languages.push(loadLanguage(name))
  } catch (error) {
    console.error(`${name} cannot be tried here: ${error.message}`)
    process.exit(3)
  }
}

const checkMs = 180_000
/** Pairs beside each other: they wait for leases and deadlines more than they compute. */
const pairsAtOnce = 3

const runCheck = async (check, pair) => {
  let timer
  const tooLong = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${checkMs} ms`)), checkMs)
  })
  try {
    await Promise.race([check.run(pair), tooLong])
  } finally {
    clearTimeout(timer)
  }
}

/** A Redis server of its own for each pair: none sees what another does to its server. */
const withStage = async use => {
  const stage = {
    folder: mkdtempSync(join(tmpdir(), 'pshub-conformance-')),
    server: await startServer(),
    generatedValues: options.ring ? 100 : 1200,
  }
  stage.redis = new Redis(stage.server.port)
  try {
    await use(stage)
  } finally {
    stage.redis.disconnect()
    await stage.server.stop()
    rmSync(stage.folder, { recursive: true, force: true })
  }
}

/** All checks of one pair. A check that fails leaves the others their turn. */
const runPair = async ({ caller, worker, checks }) => {
  const results = []
  const note = (name, startedAt, error) =>
    results.push({ name, ok: !error, ms: Math.round(performance.now() - startedAt), error: error?.message })
  const runChecks = async pair => {
    await pair.open()
    for (const check of checks) {
      const startedAt = performance.now()
      await runCheck(check, pair).then(
        () => note(check.name, startedAt),
        error => note(check.name, startedAt, error),
      )
    }
    const endedAt = performance.now()
    const left = await pair.end()
    note('no key and no process stays', endedAt, left.length > 0 ? new Error(`left in Redis: ${left}`) : undefined)
  }
  const begun = performance.now()
  try {
    await withStage(async stage => {
      const pair = new Pair(stage, caller, worker)
      await runChecks(pair).finally(() => pair.kill())
    })
  } catch (error) {
    note('the processes start and end', begun, error)
  }
  return { caller: caller.name, worker: worker.name, ms: Math.round(performance.now() - begun), results }
}

const tell = ({ caller, worker, results }) => {
  for (const { name, ok, error } of results.filter(each => options.verbose || !each.ok)) {
    console.log(`  ${ok ? 'ok    ' : 'FAILED'} ${caller} -> ${worker}: ${name}`)
    if (!ok) console.log(`         ${String(error).split('\n').slice(0, 12).join('\n         ')}`)
  }
}

const ofCalls = [...valueChecks, ...outcomeChecks, ...streamChecks, ...unansweredCallChecks]
const ofJobs = [...jobChecks, ...keyedJobChecks]
/** The state of these is kept by the functions in Redis, whatever the languages: in the ring one pair shows it. */
const ofFirstPair = [...mergedJobChecks, ...shardChecks]
/** What one side sends or answers, whoever the other side is. */
const ofOneSide = [...workerChecks, ...transcriptChecks]

/** Those of one side come before jobs, which start further workers. */
const checksOf = ({ hasMerged, hasOwn }) => [
  ...ofCalls,
  ...(hasOwn ? ofOneSide : []),
  ...ofJobs,
  ...(hasMerged ? ofFirstPair : []),
  ...faultChecks,
]

/** Each language is caller once and worker once, so each check of one side meets each language as well. */
const ring = () =>
  languages.map((caller, at) => ({
    caller,
    worker: languages[(at + 1) % languages.length],
    checks: checksOf({ hasMerged: at === 0, hasOwn: true }),
  }))

/** A check with a `side` needs processes of its own: it runs once for each language on that side, beside the first language. */
const isTriedWith = (caller, worker) => {
  const [first] = languages
  return ({ side }) => !side || (side !== 'worker' && worker === first) || (side !== 'caller' && caller === first)
}

const allPairs = () =>
  languages.flatMap(worker =>
    languages.map(caller => {
      const checks = checksOf({ hasMerged: true, hasOwn: caller === worker }).filter(isTriedWith(caller, worker))
      return { caller, worker, checks }
    }),
  )

const plan = (options.ring ? ring() : allPairs()).map(({ checks, ...pair }) => ({
  ...pair,
  checks: checks.filter(({ name }) => name.includes(options.only)),
}))
const outcomes = await fewAtOnce(plan, pairsAtOnce, runPair, tell)

const rows = outcomes.map(({ caller, worker, ms, results }) => [
  `${caller} -> ${worker}`,
  String(results.filter(({ ok }) => ok).length),
  String(results.filter(({ ok }) => !ok).length),
  `${(ms / 1000).toFixed(1)} s`,
])
const table = [['caller -> worker', 'passed', 'failed', 'time'], ...rows]
const widths = table[0].map((_, column) => Math.max(...table.map(row => row[column].length)))
console.log()
for (const row of table)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )

const all = outcomes.flatMap(({ results }) => results)
const failed = all.filter(({ ok }) => !ok).length
if (options.json) writeFileSync(options.json, JSON.stringify({ passed: all.length - failed, failed, pairs: outcomes }))
console.log(failed ? `\n${failed} of ${all.length} checks failed` : `\nAll ${all.length} checks passed`)
process.exit(failed ? 1 : 0)
