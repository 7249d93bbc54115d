// npm run bench:python: calls per second of a Python caller and a Python worker, beside Celery on the same Redis with the same work.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startServer } from '../../tools/redis-server.mjs'
import { median } from '../kit/numbers.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    'in-flight': { type: 'string', default: '1,16' },
  },
})

const folder = import.meta.dirname
const bin = name => join(folder, '.venv/bin', name)

if (!existsSync(bin('celery'))) {
  console.error('Making an environment with Celery (once) ...')
  execFileSync('python3', ['-m', 'venv', join(folder, '.venv')], { stdio: 'inherit' })
  const packages = ['-r', join(folder, 'requirements.txt'), '-e', join(folder, '../../clients/python')]
  execFileSync(bin('python'), ['-m', 'pip', '-q', '--disable-pip-version-check', 'install', ...packages], {
    stdio: 'inherit',
  })
}

const server = await startServer()
const env = { ...process.env, BENCH_REDIS: server.url }
const startProcess = (name, args) => spawn(bin(name), args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'ignore'] })

/** Celery with its default pool, and with threads as pshub's worker has them; without what it does beside serving. */
const celery = (pool, count) =>
  startProcess('celery', [
    ...['-A', 'celery_tasks', 'worker', '-P', pool, '-c', count, '-l', 'error', '-n', `${pool}@%h`],
    ...['--without-gossip', '--without-mingle', '--without-heartbeat'],
  ])
const workers = {
  'pshub, 16 slots': () => startProcess('pshub-worker-py', ['pshub_tasks.py', '--slots', '16', '--redis', server.url]),
  'celery, 2 processes': () => celery('prefork', '2'),
  'celery, 16 threads': () => celery('threads', '16'),
}
const callers = {
  pshub: ['pshub-threads', 'pshub-bursts', 'pshub-asyncio'],
  celery: ['celery-threads', 'celery-bursts'],
}

const measure = (system, inFlight) =>
  JSON.parse(
    execFileSync(bin('python'), ['caller.py', system, inFlight, values.seconds], {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )

const results = new Map()
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, start] of Object.entries(workers)) {
      const worker = start()
      const exited = new Promise(resolve => worker.once('exit', resolve))
      // Time to start, before anything is measured.
      await sleep(name.startsWith('celery') ? 4000 : 1500)
      for (const inFlight of values['in-flight'].split(',')) {
        for (const system of callers[name.split(',')[0]]) {
          const key = `${name} | ${system} | ${inFlight}`
          results.set(key, [...(results.get(key) ?? []), { ...measure(system, inFlight), load: loadavg()[0] }])
        }
      }
      worker.kill('SIGTERM')
      await exited
    }
  }
} finally {
  await server.stop()
}

console.log('| worker | caller | in flight | calls/s | p50, ms | load of the machine |')
console.log('| --- | --- | --- | --- | --- | --- |')
const best = new Map()
for (const [key, runs] of results) {
  const perSecond = median(runs.map(run => run.perSecond))
  const p50 = median(runs.map(run => run.p50Ms))
  const load = median(runs.map(run => run.load))
  console.log(`| ${key} | ${Math.round(perSecond)} | ${p50.toFixed(2)} | ${load.toFixed(1)} |`)
  const [worker, , inFlight] = key.split(' | ')
  const group = `${worker.split(',')[0]} ${inFlight}`
  best.set(group, Math.max(best.get(group) ?? 0, perSecond))
}
for (const inFlight of values['in-flight'].split(',')) {
  const ratio = best.get(`pshub ${inFlight}`) / best.get(`celery ${inFlight}`)
  console.log(`\n${inFlight} in flight: ${ratio.toFixed(1)} times Celery's calls/s, each at its best`)
}
