// npm run bench: calls per second and waiting times of pshub beside the floor, interleaved, as medians and ratios.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root } from '../tools/prepare.mjs'
import { startServer } from '../tools/redis-server.mjs'
import { median } from './numbers.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    ms: { type: 'string', default: '2000' },
    'in-flight': { type: 'string', default: '1,16,64,256' },
    systems: { type: 'string', default: 'floor,pshub' },
    slots: { type: 'string', default: '64' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const help = `npm run bench -- [options]
  --rounds n        interleaved rounds; medians of them are shown (default 3)
  --ms n            length of each load (default 2000)
  --in-flight list  calls in flight (default 1,16,64,256)
  --systems list    what to measure (default floor,pshub)
  --slots n         slots of the worker (default 64)
  --json            all numbers as JSON on stdout`

/** A caller and a worker process of one system; resolves when both are ready. */
const startPair = async (system, redis) => {
  const start = async role => {
    const child = fork(join(root, 'bench/process.mjs'), [role, system, redis, values.slots], { cwd: root })
    await once(child, 'message')
    return child
  }
  const worker = await start('worker')
  const caller = await start('caller')
  const measure = async (inFlight, ms) => {
    caller.send({ inFlight, ms })
    const [result] = await once(caller, 'message')
    return result
  }
  const stop = () =>
    Promise.all(
      [caller, worker].map(async child => {
        child.send('stop')
        await once(child, 'exit')
      }),
    )
  return { measure, stop }
}

const measureAll = async (systems, loads, redis) => {
  const samples = []
  const pairs = []
  for (const system of systems) pairs.push([system, await startPair(system, redis)])
  for (const [, pair] of pairs) await pair.measure(64, 1000)
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const inFlight of loads) {
      for (const [system, pair] of pairs)
        samples.push({ system, inFlight, ...(await pair.measure(inFlight, Number(values.ms))) })
    }
  }
  for (const [, pair] of pairs) await pair.stop()
  return samples
}

const summarise = (samples, systems, loads) =>
  loads.flatMap(inFlight => {
    const of = (system, field) => samples.filter(s => s.system === system && s.inFlight === inFlight).map(s => s[field])
    return systems.map(system => ({
      'in flight': inFlight,
      system,
      'calls/s': Math.round(median(of(system, 'callsPerSecond'))),
      'min..max': `${Math.round(Math.min(...of(system, 'callsPerSecond')))}..${Math.round(Math.max(...of(system, 'callsPerSecond')))}`,
      'p50 us': Math.round(median(of(system, 'p50Us'))),
      'p99 us': Math.round(median(of(system, 'p99Us'))),
      'x floor calls/s': (median(of(system, 'callsPerSecond')) / median(of('floor', 'callsPerSecond'))).toFixed(2),
      'x floor p50': (median(of(system, 'p50Us')) / median(of('floor', 'p50Us'))).toFixed(2),
    }))
  })

if (values.help) console.log(help)
else {
  prepare()
  const systems = values.systems.split(',')
  const loads = values['in-flight'].split(',').map(Number)
  const server = await startServer()
  const samples = await measureAll(systems, loads, server.url)
  await server.stop()
  const machine = `${cpus().length} x ${cpus()[0]?.model}, Node ${process.versions.node}`
  if (values.json) console.log(JSON.stringify({ machine, samples }, null, 2))
  else {
    console.log(`${machine}; medians of ${values.rounds} interleaved rounds of ${values.ms} ms, ${values.slots} slots`)
    console.table(summarise(samples, systems, loads))
  }
}
