// npm run bench:overload: what is left of the capacity when several times as much is asked, beside BullMQ.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root } from '../../tools/prepare.mjs'
import { startServer } from '../../tools/redis-server.mjs'

const { values } = parseArgs({
  options: {
    systems: { type: 'string', default: 'pshub,bullmq' },
    loads: { type: 'string', default: '3,10' },
    seconds: { type: 'string', default: '20' },
    slots: { type: 'string', default: '8' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const help = `npm run bench:overload -- [options]
  --loads list    times the capacity (default 3,10)
  --seconds n     length of each load (default 20)
  --slots n       slots of the worker, each taking a task of 20 ms (default 8)
  --systems list  default pshub,bullmq
  --json          all numbers as JSON on stdout`

const measure = async (system, load) => {
  const server = await startServer()
  const start = async role => {
    const file = join(root, 'bench/overload/process.mjs')
    const child = fork(file, [role, system, server.url, values.slots], { cwd: root })
    await once(child, 'message')
    return child
  }
  const worker = await start('worker')
  const caller = await start('caller')
  const ask = async (child, message) => {
    child.send(message)
    return (await once(child, 'message'))[0]
  }
  const capacity = await ask(caller, { what: 'saturate', inFlight: Number(values.slots) * 2, ms: 4000 })
  const before = await ask(worker, { what: 'counts' })
  const offered = await ask(caller, { what: 'offer', rate: capacity * load, ms: Number(values.seconds) * 1000 })
  const recoveryMs = await ask(caller, { what: 'recover', ms: 30_000 })
  const after = await ask(worker, { what: 'counts' })
  for (const child of [caller, worker]) {
    child.send({ what: 'stop' })
    const killer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await once(child, 'exit')
    clearTimeout(killer)
  }
  await server.stop()
  return { system, load, capacity, ...offered, recoveryMs, lateStarts: after.lateStarts - before.lateStarts }
}

const row = result => ({
  load: `${result.load}x`,
  system: result.system,
  'capacity/s': Math.round(result.capacity),
  'goodput/s': Math.round(result.goodput),
  'of capacity': `${Math.round((result.goodput / result.capacity) * 100)} %`,
  'ok p50 ms': Math.round(result.okP50Ms),
  'ok p99 ms': Math.round(result.okP99Ms),
  refused: result.refused,
  'refused p99 ms': result.refusedP99Ms === undefined ? '-' : result.refusedP99Ms.toFixed(1),
  failed: result.failed,
  'late starts': result.lateStarts,
  'normal again ms': Math.round(result.recoveryMs),
})

if (values.help) console.log(help)
else {
  prepare()
  const results = []
  for (const load of values.loads.split(',').map(Number)) {
    for (const system of values.systems.split(',')) results.push(await measure(system, load))
  }
  if (values.json) console.log(JSON.stringify(results, null, 2))
  else {
    console.log(`A task of 20 ms in ${values.slots} slots, a deadline of 1 s, ${values.seconds} s of each load`)
    console.table(results.map(row))
  }
}
