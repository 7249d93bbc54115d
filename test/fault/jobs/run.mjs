// npm run test:faults:jobs: jobs of all kinds and schedules, while their workers and their Redis are killed, and what becomes of them.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { prepare } from '../../../tools/prepare.mjs'
import { loadLanguage } from '../../conformance/language.mjs'
import { seeded } from '../harness/random.mjs'
import { check } from './check.mjs'
import { faults } from './faults.mjs'
import { makeLoad } from './load.mjs'
import { makeSchedules } from './schedules.mjs'
import { makeStage } from './stage.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'redis-every': { type: 'string', default: '0' },
    'per-second': { type: 'string' },
    fault: { type: 'string', default: 'F37' },
    worker: { type: 'string', default: 'typescript' },
    help: { type: 'boolean', default: false },
  },
})
/** So often the times of schedules are missed. */
const missEveryMs = 8000
/** For so long schedules go on at the end, while nothing is in their way. */
const calmMs = 5000
const fault = faults[values.fault]
if (values.help || !fault) {
  console.log(`npm run test:faults:jobs -- [options]
  --seconds 60          for so long it goes on; workers are in four processes of two each
  --fault F37           ${Object.entries(faults)
    .map(([id, { title }]) => `${id}  ${title}`)
    .join('\n                        ')}
  --worker typescript   or python, ruby
  --redis-every 0       so many seconds after each other Redis is killed, too; 0: never
  --per-second 40       jobs, chains and batches that are enqueued
  --seed 7              repeats the choices of a run; the default is printed`)
  process.exit(values.help ? 0 : 2)
}
prepare()
const dist = new URL('../../../dist', import.meta.url).pathname
const { random } = seeded(Number(values.seed))
const { Hub } = await import(`${dist}/index.js`)

const language = values.worker === 'typescript' ? undefined : loadLanguage(values.worker)
const perSecond = Number(values['per-second'] ?? fault.perSecond ?? 40)
const stage = await makeStage({ language, graceMs: fault.graceMs })
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await stage.end(false)
    process.exit(130)
  })
await stage.startRedis()
await Promise.all(['q', 'q', 'r', 'r'].map(queue => stage.startMember(queue, 2).ready))
const hub = new Hub({ redis: stage.url, name: 'load' })
const schedules = await makeSchedules(hub, stage.url)
const load = makeLoad(hub, random, fault.acts)
let running = load.run(perSecond)

const end = Date.now() + Number(values.seconds) * 1000
const redisEvery = Number(values['redis-every']) * 1000
let nextRedis = redisEvery > 0 ? Date.now() + redisEvery : Number.POSITIVE_INFINITY
let nextMiss = Date.now() + missEveryMs / 2
let workersHit = 0
while (Date.now() < end) {
  await sleep(300 + random() * 400)
  const member = stage.members[Math.floor(random() * stage.members.length)]
  workersHit += await fault.once(stage, member)
  if (Date.now() >= nextMiss) {
    schedules.miss()
    nextMiss = Date.now() + missEveryMs
  }
  if (Date.now() < nextRedis) continue
  // What was acknowledged a second before is in the file.
  await load.stop()
  await running
  await schedules.settled()
  await sleep(1300)
  await stage.killRedis()
  nextRedis = Date.now() + redisEvery
  running = load.run(perSecond)
}
await load.stop()
await running
await Promise.all(stage.members.map(({ ready }) => ready))
await schedules.settled()

const redis = new Redis(stage.url)
const open = async () => {
  const keys = await redis.keys('pshub:{*')
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
const { found, runs, jobs, dead, deadly, marks, times, keys } = await check({
  redis,
  acknowledged,
  schedules,
  stage,
  mayRepeat: fault.mayRepeat ?? false,
  mayOverlap: fault.mayOverlap ?? fault.mayRepeat ?? false,
})
redis.disconnect()
await hub.close()
const kept = await stage.end(found.length > 0)
console.log(
  `${values.fault} ${values.worker} seed ${values.seed}: ${jobs} jobs (${acknowledged.chains.length} chains, ${acknowledged.batches.length} batches) in ${runs} runs, ` +
    `${dead} dead, ${deadly} of which no handler could do; ${workersHit} workers hit and ${stage.outages.length} times Redis killed; ${refused} not acknowledged; ` +
    `${marks} marks of steps that came from another queue are left, and go in time`,
)
console.log(
  `  ${times.times} times of ${schedules.all.length} schedules, the latest ${times.latestMs} ms late; of ${times.madeUp + times.passedOver} that were missed ` +
    `${times.madeUp} were made up for and ${times.passedOver} passed over; ${times.forgotten} came again because Redis had forgotten them`,
)
console.log(
  `  ${acknowledged.keyed.length} jobs of ${keys.keys} keys in ${keys.runs} runs; ${keys.fenced} of these went on beside the next one, with a lower token`,
)
for (const what of found.slice(0, 40)) console.log(`  ${what}`)
console.log(
  found.length === 0
    ? 'nothing lost, nothing settled twice, nothing left behind'
    : `${found.length} violations; see ${kept}`,
)
process.exit(found.length === 0 ? 0 : 1)
