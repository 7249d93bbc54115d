// npm run conformance -- python typescript: calls in all pairs of caller and worker of the languages named, against what
// PROTOCOL.md says. A language is a folder with a conformance.json; see clients/CONFORMANCE.md.
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
const { refusedCallChecks } = await import('./checks/refused-calls.mjs')
const { outcomeChecks } = await import('./checks/outcomes.mjs')
const { streamChecks } = await import('./checks/streams.mjs')
const { valueChecks } = await import('./checks/values.mjs')
const { workerChecks } = await import('./checks/worker.mjs')
const { loadLanguage } = await import('./language.mjs')
const { transcriptChecks } = await import('./transcripts/play.mjs')
const { Pair } = await import('./pair.mjs')

const usage = `npm run conformance -- [options] <language...>

A language is the name of one of the project's own (typescript, python ...) or a folder with a conformance.json. Runs all pairs of
caller and worker of the languages named; faults, and what else needs processes of its own, in those of which one side is of the first
language named.

  --only <text>   checks whose name contains the text
  --verbose       each check, also those that pass
  --json <file>   what was found, for programs
  --retries <n>   a check that failed is tried again, on machines where a process may get no turn for seconds (0)`

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
    json: { type: 'string' },
    retries: { type: 'string', default: '0' },
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

const checkMs = 60_000
/** Pairs beside each other: they wait for leases and deadlines more than they compute. */
const pairsAtOnce = 2

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
  const stage = { folder: mkdtempSync(join(tmpdir(), 'pshub-conformance-')), server: await startServer() }
  stage.redis = new Redis(stage.server.port)
  try {
    await use(stage)
  } finally {
    stage.redis.disconnect()
    await stage.server.stop()
    rmSync(stage.folder, { recursive: true, force: true })
  }
}

/** The error of the last of its attempts, if that failed, and whether there was more than one. */
const attempted = async (check, pair) => {
  let failure
  for (let attempt = 0; attempt <= Number(options.retries); attempt++) {
    failure = await runCheck(check, pair).then(
      () => undefined,
      error => error,
    )
    if (!failure) return { retried: attempt > 0 }
  }
  return { failure, retried: Number(options.retries) > 0 }
}

/** All checks of one pair. A check that fails leaves the others their turn. */
const runPair = async ({ caller, worker, checks }) => {
  const results = []
  const note = (name, startedAt, error, retried = false) =>
    results.push({ name, ok: !error, ms: Math.round(performance.now() - startedAt), error: error?.message, retried })
  const runChecks = async pair => {
    await pair.open()
    for (const check of checks) {
      const startedAt = performance.now()
      const { failure, retried } = await attempted(check, pair)
      note(check.name, startedAt, failure, retried)
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

/**
 * What is said in a call concerns both sides, so every pair is asked. What needs processes of its own, a fault most of all, meets
 * one of them, its `side`, or each by itself: each language's is tried with one and the same other side.
 */
const isTriedWith = (caller, worker) => {
  const [first] = languages
  return ({ side }) => !side || (side !== 'worker' && worker === first) || (side !== 'caller' && caller === first)
}

const fits = ({ name }) => name.includes(options.only)
const plan = languages.flatMap(worker =>
  languages.map(caller => {
    // What a worker does with anybody's requests, and what either side sends, is looked at with its own language, once.
    const own = caller === worker ? [...workerChecks, ...transcriptChecks] : []
    const ofJobs = [...jobChecks, ...keyedJobChecks, ...mergedJobChecks, ...shardChecks]
    const checks = [
      ...valueChecks,
      ...outcomeChecks,
      ...streamChecks,
      ...refusedCallChecks,
      ...own,
      ...ofJobs,
      ...faultChecks,
    ]
    return { caller, worker, checks: checks.filter(isTriedWith(caller, worker)).filter(fits) }
  }),
)
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
const retried = outcomes.flatMap(({ caller, worker, results }) =>
  results.filter(result => result.ok && result.retried).map(({ name }) => `${caller} -> ${worker}: ${name}`),
)
if (options.json)
  writeFileSync(options.json, JSON.stringify({ passed: all.length - failed, failed, retried, pairs: outcomes }))
console.log(failed ? `\n${failed} of ${all.length} checks failed` : `\nAll ${all.length} checks passed`)
process.exit(failed ? 1 : 0)
