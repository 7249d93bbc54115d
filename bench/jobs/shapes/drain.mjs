// Many blank jobs, enqueued at once and then run by one process: how fast, at what cost, and what they take in Redis while they wait.
import { median } from '../../kit/numbers.mjs'
import { openServer } from '../server.mjs'
import { firstJobs, systems } from '../systems.mjs'

const payloadBytes = jobs => Array.from({ length: jobs }, (_, n) => `{"n":${n}}`.length).reduce((a, b) => a + b, 0)

/** One system, once. */
const measure = async (name, jobs, slots) => {
  const server = await openServer()
  const { enqueuer, worker } = systems[name]
  try {
    const enqueuing = enqueuer(server.url, jobs)
    await enqueuing.next()
    const before = await server.memory()
    enqueuing.say('go')
    const enqueued = await enqueuing.next()
    await enqueuing.ended()
    const bytes = ((await server.memory()) - before - payloadBytes(jobs)) / jobs
    const all = jobs + firstJobs
    const cpuBefore = await server.cpuMs()
    const working = worker(server.url, all, slots)
    const { ms, cpuMs } = await working.next()
    const redisMs = (await server.cpuMs()) - cpuBefore
    await working.stop()
    return {
      perSecond: jobs / (enqueued.ms / 1000),
      bytes,
      usPerJob: (ms / all) * 1000,
      workerUs: (cpuMs / all) * 1000,
      redisUs: (redisMs / all) * 1000,
    }
  } finally {
    await server.stop()
  }
}

const rounded = (number, digits) => Number(number.toFixed(digits))

/** Medians by system, and of what the first system has of another one's figures in the same round. */
const rowsOf = (slots, samples) => {
  const [[, own]] = samples
  return [...samples].map(([system, each]) => {
    const of = field => median(each.map(sample => sample[field]))
    const ratio = field => median(each.map((sample, round) => own[round][field] / sample[field]))
    return {
      slots,
      system,
      'us/job': rounded(of('usPerJob'), 1),
      'pshub has': rounded(ratio('usPerJob'), 2),
      'worker cpu us': rounded(of('workerUs'), 1),
      'redis cpu us': rounded(of('redisUs'), 1),
      'enqueued/s': Math.round(of('perSecond')),
      'pshub has ': rounded(ratio('perSecond'), 2),
      'bytes/job': Math.round(of('bytes')),
    }
  })
}

const drained = async ({ names, jobs, slots: slotCounts, rounds }) => {
  const rows = []
  for (const slots of slotCounts) {
    const samples = new Map(names.map(name => [name, []]))
    for (let round = 0; round < rounds; round++) {
      // There and back, so that none always comes behind the same one.
      const order = round % 2 === 0 ? names : names.toReversed()
      for (const name of order) {
        const count = Math.max(1000, Math.round(jobs * systems[name].share))
        samples.get(name).push(await measure(name, count, slots))
      }
    }
    rows.push(...rowsOf(slots, samples))
  }
  return rows
}

const title = ({ jobs, rounds }) =>
  `${jobs} blank jobs (Lowkiq: a tenth of them), enqueued at once, then run by one process; medians of ${rounds} interleaved rounds`

export const drain = async options => ({ title: `drain: ${title(options)}`, rows: await drained(options) })

/** The same of jobs with keys: in lines of 2,000 keys, and merged, a key for each job, in runs of one key and of ten. */
export const keyed = async options => {
  const names = ['pshub', 'ordered', 'merged', 'merged-10', ...options.names.filter(name => name === 'lowkiq')]
  return { title: `keyed: ${title(options)}`, rows: await drained({ ...options, names }) }
}
