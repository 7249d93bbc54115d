// npm run bench:simulate: what presence, statistics and route look-ups of a large installation cost one Redis. No processes of workers and
// hubs, but their own code, commands and messages.
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'
import { ensureServer, startServer } from '../../tools/redis-server.mjs'
import { machine, machineText } from '../kit/machine.mjs'
import { between, readGauge } from './gauge.mjs'

const partsOf = {
  idle: {},
  presence: { beats: true },
  statistics: { statistics: true },
  cards: { cards: true },
  'look-ups': { lookUps: true },
  together: { beats: true, statistics: true, cards: true, lookUps: true },
}

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '10000' },
    hubs: { type: 'string', default: '2000' },
    queues: { type: 'string', default: '20' },
    tasks: { type: 'string', default: '10' },
    called: { type: 'string', default: '4' },
    rate: { type: 'string', default: '20' },
    share: { type: 'string', default: '0.2' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '200' },
    parts: { type: 'string', default: Object.keys(partsOf).join(',') },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const help = `npm run bench:simulate -- [options]     all of it takes about 3 minutes
  --workers n      that are registered, and whose leases hold (10000)
  --hubs n         that call (2000)
  --queues n       that the workers serve (20)
  --tasks n        of each queue, provided by all of its workers (10)
  --called n       tasks of two queues that each hub goes on calling (4)
  --rate n         calls that each worker runs a second: what it has to tell of them (20)
  --share s        of workers and hubs that are played; figures are those of all (0.2)
  --seconds n      of each part (10)
  --connections n  that the driver plays them on (200)
  --parts list     of ${Object.keys(partsOf).join(', ')} (all)
  --json           all numbers on stdout`

const number = name => Number(values[name])

const measurePart = async (parts, site, options) => {
  const { Crowd, playOpenLoop, workerRing, hubRing } = await import('./crowd.mjs')
  const { Redis } = await import('ioredis')
  const server = await startServer()
  const redis = new Redis(server.url)
  const crowd = new Crowd(server.url, site, options)
  try {
    await crowd.open()
    const workers = await crowd.workersOf(redis, parts)
    const rings = [
      ...(parts.beats || parts.statistics || parts.cards ? [workerRing(workers)] : []),
      ...(parts.lookUps ? [hubRing(await crowd.hubs())] : []),
    ]
    // Into the rhythm first: workers take their leases, hubs look again.
    await playOpenLoop(rings, 2)
    const before = await readGauge(redis)
    const lateMs = await playOpenLoop(rings, options.seconds)
    const after = await readGauge(redis)
    return { ...between(before, after), lateMs, memory: after.memory }
  } finally {
    await crowd.close()
    redis.disconnect()
    await server.stop()
  }
}

const percent = share => `${(100 * share).toFixed(1)} %`
const perSecond = count => Math.round(count).toLocaleString('en')
const megabytes = bytes => (bytes / 1e6).toFixed(1)

/** Of all, where a share was played; what an idle server does is not done for each of them. */
const rowOf = (part, { cpu, commands, bytesIn, bytesOut, byCommand, lateMs }, idleCpu, share) => ({
  part,
  'of one core': percent((cpu - idleCpu) / share + idleCpu),
  'commands/s': perSecond(commands / share),
  'MB/s in': megabytes(bytesIn / share),
  'MB/s out': megabytes(bytesOut / share),
  'most of it in commands': byCommand
    .slice(0, 4)
    .map(each => `${each.name} ${percent(each.share / share)}`)
    .join(', '),
  'driver late, ms': Math.round(lateMs),
})

if (values.help) console.log(help)
else {
  prepare()
  const binary = ensureServer()
  const { makeSite } = await import('./crowd.mjs')
  const options = Object.fromEntries(
    ['workers', 'hubs', 'queues', 'tasks', 'called', 'rate', 'share', 'seconds', 'connections'].map(name => [
      name,
      number(name),
    ]),
  )
  const command = `npm run bench:simulate -- ${process.argv.slice(2).join(' ')}`.trim()
  const told = machine(binary)
  if (!values.json) console.log(`${command}\n${machineText(told)}`)
  const site = makeSite(options)
  const results = {}
  const rows = []
  for (const part of values.parts.split(',')) {
    results[part] = await measurePart(partsOf[part], site, options)
    rows.push(rowOf(part, results[part], results.idle?.cpu ?? 0, part === 'idle' ? 1 : options.share))
    if (!values.json) console.error(`${part} measured`)
  }
  if (values.json) console.log(JSON.stringify({ command, machine: told, options, results }, null, 2))
  else {
    console.table(rows)
    console.log(
      `${options.workers} workers of ${options.queues} queues and ${options.hubs} hubs, of which ${percent(options.share)} were played; figures are those of all.`,
    )
    console.log(
      'Commands that functions run are counted under their own names too; what they took is in fcall as well.',
    )
  }
}
