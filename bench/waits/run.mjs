// npm run pictures: runs the two loads whose waits docs/measuring.md shows, on a real redis-server, and draws docs/pictures/*.svg.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepare, root } from '../../tools/prepare.mjs'
import { startServer } from '../../tools/redis-server.mjs'
import { picture } from './picture.mjs'

/** 40 calls a second, and once a second eight in one push, of which the first blocks the event loop of their worker. */
const blockedLoop = {
  file: 'blocked-loop.svg',
  title: 'Once a second one of eight calls blocks the event loop for 300 ms; 2 workers of 8 slots',
  seconds: 10,
  workers: 2,
  slots: 8,
  async load(call) {
    const calls = []
    const startedAt = performance.now()
    for (let n = 0; n < this.seconds * 40; n++) {
      await sleep(Math.max(0, startedAt + n * 25 - performance.now()))
      if (n % 40 === 20) calls.push(call('block:1.0', 300), ...Array.from({ length: 7 }, () => call('wait:1.0', 20)))
      else calls.push(call('wait:1.0', 20))
    }
    await Promise.all(calls)
  },
}

/** 60 calls a second for 5 s, where 4 slots can do 40; then nobody calls. */
const tooManyCalls = {
  file: 'too-many-calls.svg',
  title: 'More calls than slots: 60 calls a second of 100 ms each, for 5 s; 1 worker of 4 slots',
  seconds: 5,
  workers: 1,
  slots: 4,
  async load(call) {
    const calls = []
    const startedAt = performance.now()
    for (let n = 0; n < this.seconds * 60; n++) {
      await sleep(Math.max(0, startedAt + (n * 1000) / 60 - performance.now()))
      calls.push(call('wait:1.0', 100))
    }
    await Promise.all(calls)
  },
}

const startWorker = async (redis, slots) => {
  const args = [join(root, 'dist/cli/main.js'), 'worker', join(root, 'bench/waits/tasks.mjs')]
  const child = spawn(process.execPath, [...args, '--redis', redis, '--slots', String(slots), '--log-format', 'json'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`the worker ended with ${code}`)))
    child.stderr.on('data', chunk => String(chunk).includes('worker started') && resolve())
  })
  return async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

const run = async (scene, Hub) => {
  const { file, title, seconds, workers, slots } = scene
  const server = await startServer()
  const stopWorkers = await Promise.all(Array.from({ length: workers }, () => startWorker(server.url, slots)))
  const hub = new Hub({ redis: server.url })
  const call = (task, ms) => hub.call(task, { ms }, { timeoutMs: 30_000 })
  // The first calls of a process compile what they run, and look up where tasks are.
  for (let n = 0; n < 25; n++) await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => call('wait:1.0', 5)))
  await call('block:1.0', 1)
  const panels = [
    { name: 'backlog_wait', about: 'in Redis, on its clock, until a worker takes it', phase: 'backlog', points: [] },
    { name: 'queue_wait', about: 'in the worker, until its handler starts', phase: 'queue', points: [] },
    { name: 'exec', about: 'the handler itself', phase: 'exec', points: [] },
  ]
  await sleep(100)
  const startedAt = performance.now()
  hub.events.on('call:settled', ({ us, ms }) => {
    // At the time of the call.
    const second = (performance.now() - startedAt - ms) / 1000
    for (const { phase, points } of panels) points.push([second, us[phase] / 1000])
  })
  await scene.load(call)
  await hub.close()
  await Promise.all(stopWorkers.map(stop => stop()))
  await server.stop()
  const path = join('docs/pictures', file)
  writeFileSync(join(root, path), picture({ title, seconds, panels }))
  const shown = panels.map(({ name, points }) => {
    const sorted = points.map(([, ms]) => ms).sort((a, b) => a - b)
    const at = part => sorted[Math.ceil(sorted.length * part) - 1].toFixed(1)
    return `${name} p50 ${at(0.5)}, p95 ${at(0.95)}, most ${at(1)} ms`
  })
  console.log(`${path}: ${panels[0].points.length} calls; ${shown.join('; ')}`)
}

prepare()
const { Hub } = await import('../../dist/index.js')
for (const scene of [blockedLoop, tooManyCalls]) await run(scene, Hub)
