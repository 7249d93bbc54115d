// npm run test:faults:jobs: jobs of all kinds and schedules, while their workers and their Redis are killed, and what becomes of them.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { prepare } from '../../../tools/prepare.mjs'
import { loadLanguage } from '../../conformance/language.mjs'
import { fewAtOnce } from '../../support/few-at-once.mjs'
import { seeded } from '../harness/random.mjs'
import { plant } from '../planted/bugs.mjs'
import { jobBugs } from '../planted/job-bugs.mjs'
import { check } from './check.mjs'
import { faults } from './faults.mjs'
import { makeLoad } from './load.mjs'
import { makeReshards } from './reshards.mjs'
import { makeSchedules } from './schedules.mjs'
import { makeStage } from './stage.mjs'
import { strikes } from './strikes.mjs'

/** A run with each bug, two at a time. Resolves with 1 where one was not caught. */
const runAll = async list => {
  const run = ({ name }) =>
    new Promise(resolve => {
      const args = [...process.argv.slice(1).filter(arg => arg !== '--planted' && arg !== 'all'), '--planted', name]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      let output = ''
      child.stdout.on('data', chunk => (output += chunk))
      child.once('close', code => resolve({ code, output }))
    })
  const results = await fewAtOnce(list, 2, run, ({ output }) => console.log(output.trim().split('\n').at(-1)))
  const missed = results.filter(({ code }) => code !== 0).length
  console.log(`${list.length - missed} passed, ${missed} failed`)
  return missed > 0 ? 1 : 0
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'redis-every': { type: 'string' },
    'reshard-every': { type: 'string' },
    durable: { type: 'boolean', default: false },
    'per-second': { type: 'string' },
    fault: { type: 'string' },
    worker: { type: 'string', default: 'typescript' },
    jobs: { type: 'string', default: '0' },
    keys: { type: 'string', default: '12' },
    merged: { type: 'string', default: '0.2' },
    burst: { type: 'string', default: '3' },
    'worker-kills': { type: 'string', default: '0' },
    'redis-kills': { type: 'string', default: '0' },
    planted: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
/** So often the times of schedules are missed. */
const missEveryMs = 8000
/** For so long schedules go on at the end, while nothing is in their way. */
const calmMs = 5000
const all = { ...strikes, ...faults }
const bug = values.planted === undefined ? undefined : jobBugs.find(({ name }) => name === values.planted)
const faultId = values.fault ?? bug?.fault ?? 'F37'
const fault = all[faultId]
if (values.help || !fault) {
  console.log(`npm run test:faults:jobs -- [options]
  --seconds 60          for so long it goes on; workers are in four processes of two each
  --fault F37           ${Object.entries(all)
    .map(([id, { title }]) => `${id}  ${title}`)
    .join('\n                        ')}
  --worker typescript   or python, ruby, or several with commas between them, in turn
  --jobs 0              it goes on until so many payloads of merged jobs are enqueued, too
  --worker-kills 0      and until so many workers were hit
  --redis-kills 0       and until Redis was killed so often
  --merged 0.2          the share of merged jobs
  --keys 12             so many keys of each queue have these
  --burst 3             so many payloads of a key come at a time, at the most
  --planted <name>      with a bug in it: passes when that is seen; 'all': one run with each of them
  --redis-every 0       so many seconds after each other Redis is killed, too; 0: never. Where the fault is one of Redis: that
  --reshard-every 0     so many seconds after each other the number of shards of each queue is changed, too; 0: never
  --durable             all is confirmed by a replica, and comes while it strikes, too
  --per-second 40       jobs, chains and batches that are enqueued
  --seed 7              repeats the choices of a run; the default is printed`)
  process.exit(values.help ? 0 : 2)
}
prepare()
if (values.planted === 'all') process.exit(await runAll(jobBugs))
if (values.planted !== undefined && !bug) {
  console.error(`There is no bug '${values.planted}'. Bugs: ${jobBugs.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
try {
  fault.needs?.()
} catch (error) {
  console.error(`${faultId} cannot be tried: ${error.message}`)
  process.exit(2)
}
const planted = bug && plant(bug)
const dist = planted?.dist ?? new URL('../../../dist', import.meta.url).pathname
const { random } = seeded(Number(values.seed))
const { Hub } = await import(`${dist}/unjoined.mjs`)

const languages = values.worker.split(',').map(name => (name === 'typescript' ? undefined : loadLanguage(name)))
const perSecond = Number(values['per-second'] ?? fault.perSecond ?? 40)
const stage = await makeStage({ fault, languages, dist })
let reshards
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    reshards?.kill()
    await stage.end(false)
    planted?.remove()
    process.exit(130)
  })
await Promise.all(['q', 'q', 'r', 'r'].map(queue => stage.startMember(queue, fault.workersEach ?? 2).ready))
const hub = new Hub({ redis: stage.url, name: 'load' })
const schedules = await makeSchedules(hub, stage.ground, fault.hasSchedules)
const shape = { keys: Number(values.keys), burst: Number(values.burst), share: Number(values.merged) }
const load = makeLoad({
  hub,
  random,
  acts: fault.acts,
  work: fault.work,
  merged: shape,
  aheadMs: () => stage.ground.aheadMs,
  durable: values.durable ? { durable: 'replica' } : {},
})
let running = load.run(perSecond)
const reshardEvery = Number(values['reshard-every'] ?? (bug?.reshards ? 2 : 0)) * 1000
reshards = reshardEvery > 0 ? makeReshards({ stage, random, everyMs: reshardEvery, dist }) : undefined

const end = Date.now() + Number(values.seconds) * 1000
const redisEvery = Number(values['redis-every'] ?? fault.everySeconds ?? 0) * 1000
let nextRedis = redisEvery > 0 ? Date.now() + redisEvery : Number.POSITIVE_INFINITY
let nextMiss = Date.now() + missEveryMs / 2
let workersHit = 0
const isWanted = () =>
  Date.now() < end ||
  load.acknowledged.merged.length < Number(values.jobs) ||
  workersHit < Number(values['worker-kills']) ||
  stage.strikes < Number(values['redis-kills'])
while (isWanted()) {
  await sleep(300 + random() * 400)
  const member = stage.members[Math.floor(random() * stage.members.length)]
  workersHit += await fault.once(stage, member)
  if (Date.now() >= nextMiss) {
    schedules.miss()
    nextMiss = Date.now() + missEveryMs
  }
  if (Date.now() < nextRedis) continue
  const goesOn = values.durable || fault.isLossless
  if (!goesOn) {
    await load.stop()
    await running
  }
  await schedules.settled()
  // What was acknowledged a second before is in the file, and on the replica.
  if (!goesOn) await sleep(1300)
  await stage.strike()
  nextRedis = Date.now() + redisEvery
  if (!goesOn) running = load.run(perSecond)
}
await load.stop()
await running
await reshards?.end()
await Promise.all(stage.members.map(({ ready }) => ready))
await schedules.settled()

const open = async () => {
  const keys = await stage.keys('pshub:{*')
  return keys.filter(key => /:(jobs|jobs:high|jobs:low|scheduled|retries|later|keyed|held:.*)$/.test(key)).length
}
/** Adoption takes a lease, and three deaths three of them. */
const rest = async () => {
  for (let quiet = 0, tries = 0; quiet < 8 && tries < 240; tries++) {
    quiet = (await open()) === 0 ? quiet + 1 : 0
    await sleep(250)
  }
}
await schedules.pause()
await rest()
await schedules.resume()
await sleep(calmMs)
await schedules.remove()
await rest()
const { acknowledged, refused } = load
const { found, runs, jobs, dead, deadly, marks, times, keys, merged } = await check({
  acknowledged,
  given: load.given,
  schedules,
  stage,
  mayRepeat: fault.mayRepeat ?? false,
  mayOverlap: fault.mayOverlap ?? fault.mayRepeat ?? false,
})
const verdict = fault.verdict?.(stage.ground)
if (verdict) found.push(verdict)
await hub.close()
const kept = await stage.end(found.length > 0 && !bug)
planted?.remove()
console.log(
  `${faultId} ${values.worker} seed ${values.seed}: ${jobs} jobs (${acknowledged.chains.length} chains, ${acknowledged.batches.length} batches) in ${runs} runs, ` +
    `${dead} dead, ${deadly} of which no handler could do; ${workersHit} workers hit and ${stage.strikes} times Redis; ${refused} not acknowledged; ` +
    `${marks} marks of steps that came from another queue are left, and go in time`,
)
console.log(
  `  ${times.times} times of ${schedules.all.length} schedules, the latest ${times.latestMs} ms late; of ${times.madeUp + times.passedOver} that were missed ` +
    `${times.madeUp} were made up for and ${times.passedOver} passed over; ${times.forgotten} came again because Redis had forgotten them`,
)
console.log(
  `  ${acknowledged.keyed.length} jobs of ${keys.keys} keys in ${keys.runs} runs; ${keys.fenced} of these went on beside the next one, with a lower token`,
)
console.log(
  `  ${acknowledged.merged.length} payloads of ${merged.keys} merged keys in ${merged.runs} runs, which had ${merged.payloads}; ${merged.dead} dead; ` +
    `${merged.fenced} of these runs went on beside the next one, with a lower token`,
)
if (reshards) {
  const { done, killed, failed } = reshards.counts
  console.log(
    `  ${done} changes of the number of shards, by processes of which ${killed} were killed in the middle and ${failed} refused; ` +
      `${keys.moves} jobs of a key went into another place than the one before`,
  )
}
if (bug) {
  const seen = found.filter(what => bug.breaks.some(breaks => what.startsWith(breaks)))
  const others = new Set(found.map(what => what.split(':')[0]))
  for (const what of (seen.length > 0 ? seen : found).slice(0, 3)) console.log(`  ${what}`)
  console.log(
    `planted '${bug.name}' (${bug.what}): ${seen.length > 0 ? `caught, ${seen.length} times` : 'NOT CAUGHT'}; seen: ${[...others].join('; ')}`,
  )
  process.exit(seen.length > 0 ? 0 : 1)
}
for (const what of found.slice(0, 40)) console.log(`  ${what}`)
console.log(
  found.length === 0
    ? 'nothing lost, nothing settled twice, nothing left behind'
    : `${found.length} violations; see ${kept}`,
)
process.exit(found.length === 0 ? 0 : 1)
