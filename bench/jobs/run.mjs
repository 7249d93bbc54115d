// npm run bench:jobs: many blank jobs, enqueued at once and run by one process, beside other queues of Node, interleaved in one run.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { ensureServer, startServer } from '../../tools/redis-server.mjs'
import { machine, machineText } from '../kit/machine.mjs'
import { median } from '../kit/numbers.mjs'
import { prepareBench } from '../kit/prepare.mjs'
import { jobSystems } from './systems.mjs'

const { values } = parseArgs({
  options: {
    systems: { type: 'string', default: Object.keys(jobSystems).join(',') },
    jobs: { type: 'string', default: '50000' },
    slots: { type: 'string', default: '5,64' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const help = `npm run bench:jobs -- [options]
  --jobs n        blank jobs that are enqueued at once, and then run by one process (50000)
  --slots list    at once (5,64)
  --rounds n      interleaved rounds; shown are medians (3)
  --systems list  of ${Object.keys(jobSystems).join(', ')}
  --json          all numbers on stdout`

const member = (...args) =>
  fork(join(import.meta.dirname, 'member.mjs'), args.map(String), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
const messageOf = child =>
  new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', code => reject(new Error(`a process of the benchmark ended with ${code}`)))
  })
const exitOf = child => new Promise(resolve => (child.exitCode === null ? child.once('exit', resolve) : resolve()))

/** One system, once: bulk enqueue, memory of what waits, and the time until all have run. */
const measure = async (name, jobs, slots) => {
  const server = await startServer()
  const redis = new Redis(server.url)
  const memory = async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))[1])
  const enqueuer = member('enqueue', name, server.url, jobs)
  await messageOf(enqueuer)
  const before = await memory()
  enqueuer.send('go')
  const enqueueMs = await messageOf(enqueuer)
  await exitOf(enqueuer)
  const payload = Array.from({ length: jobs }, (_, n) => JSON.stringify({ n }).length).reduce(
    (sum, each) => sum + each,
    0,
  )
  const bytes = ((await memory()) - before - payload) / jobs
  const worker = member('work', name, server.url, jobs + 200, slots)
  const { ms, cpuMs } = await messageOf(worker)
  worker.send('end')
  await exitOf(worker)
  redis.disconnect()
  await server.stop()
  return {
    enqueuedPerSecond: jobs / (enqueueMs / 1000),
    bytes,
    msPerJob: ms / (jobs + 200),
    cpuMsPerJob: cpuMs / (jobs + 200),
  }
}

if (values.help) console.log(help)
else {
  prepareBench()
  const server = ensureServer()
  const jobs = Number(values.jobs)
  const rows = []
  for (const slots of values.slots.split(',').map(Number)) {
    const samples = new Map(values.systems.split(',').map(name => [name, []]))
    for (let round = 0; round < Number(values.rounds); round++)
      for (const [name, own] of samples) own.push(await measure(name, jobs, slots))
    for (const [name, own] of samples) {
      const of = field => median(own.map(sample => sample[field]))
      rows.push({
        slots,
        system: name,
        'enqueued/s': Math.round(of('enqueuedPerSecond')),
        'bytes/job': Math.round(of('bytes')),
        'ms/job': Number(of('msPerJob').toFixed(4)),
        'worker cpu ms/job': Number(of('cpuMsPerJob').toFixed(4)),
      })
    }
  }
  if (values.json) console.log(JSON.stringify({ machine: machine(server), rows }, null, 2))
  else {
    console.log(`${jobs} blank jobs, ${values.rounds} interleaved rounds; ${machineText(machine(server))}`)
    console.table(rows)
  }
}
