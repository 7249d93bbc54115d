// npm run bench: pshub beside two floors and its peers, interleaved in one run, as medians and ratios.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureServer } from '../tools/redis-server.mjs'
import { goodputChart } from './kit/goodput-chart.mjs'
import { loadsChart } from './kit/loads-chart.mjs'
import { writeSpeedGuide } from './kit/loads-table.mjs'
import { machine, machineText } from './kit/machine.mjs'
import { prepareBench } from './kit/prepare.mjs'
import { peers, systems } from './systems/index.mjs'

const everything = [
  'loads',
  'web-tier',
  'lone',
  'payloads',
  'redis-cost',
  'waiting',
  'scaling',
  'declared',
  'start-up',
  'import',
  'install',
  'overload',
]
const floors = ['floor', 'floor-batched']

const help = `npm run bench -- [options]

Without options: calls per second and waits at 1, 64 and 256 calls in flight, in under three minutes.

  --all             everything there is to measure, at 1, 16, 64, 256 and 1,000 in flight
  --only list       of ${everything.join(', ')}
  --systems list    of ${Object.keys(systems).join(', ')}
  --in-flight list  calls in flight
  --rounds n        interleaved rounds; shown are medians, of ratios too (3)
  --ms n            length of each load (700; 2000 with --all)
  --slots n         slots of the worker (64)
  --json file       all samples, with machine and versions
  --svg folder      charts of what was measured of these: speed.svg (loads), goodput.svg (overload)
  --docs            writes the table and the chart of docs/speed.md
  --profile folder  a CPU profile of each caller and worker, for the developer tools of a browser`

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
    systems: { type: 'string', default: ['pshub', ...floors, ...peers].join(',') },
    'in-flight': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    ms: { type: 'string' },
    slots: { type: 'string', default: '64' },
    json: { type: 'string' },
    svg: { type: 'string' },
    docs: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const listed = (text, known, what) => {
  const list = text.split(',')
  const unknown = list.find(each => !known.includes(each))
  if (unknown === undefined) return list
  console.error(`There is no ${what} '${unknown}'. Known: ${known.join(', ')}.`)
  process.exit(2)
}

const wanted = () => {
  if (values.only !== undefined) return listed(values.only, everything, 'measurement')
  return values.all ? everything : ['loads']
}

const measure = async () => {
  const names = listed(values.systems, Object.keys(systems), 'system')
  const options = {
    names,
    inFlight: (values['in-flight'] ?? (values.all ? '1,16,64,256,1000' : '1,64,256')).split(',').map(Number),
    rounds: Number(values.rounds),
    ms: Number(values.ms ?? (values.all ? 2000 : 700)),
    slots: Number(values.slots),
    profileDir: values.profile,
  }
  const wantedNames = wanted()
  prepareBench()
  if (values.profile) mkdirSync(values.profile, { recursive: true })
  const found = { machine: machine(ensureServer()), options, measurements: {} }
  console.log(machineText(found.machine))
  console.log(`Medians of ${options.rounds} interleaved rounds of ${options.ms} ms, ${options.slots} slots`)
  for (const wantedName of wantedNames) {
    const { name, title, run } = await import(`./experiments/${wantedName}.mjs`)
    console.log(`\n${title}`)
    found.measurements[name] = await run(options)
    console.table(found.measurements[name].rows)
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(found, undefined, 2)}\n`)
  const { loads, overload } = found.measurements
  if (values.svg) mkdirSync(values.svg, { recursive: true })
  if (values.svg && loads) writeFileSync(join(values.svg, 'speed.svg'), loadsChart(found))
  if (values.docs && loads) writeSpeedGuide(found)
  if (values.svg && overload) writeFileSync(join(values.svg, 'goodput.svg'), goodputChart(found))
}

if (values.help) console.log(help)
else await measure()
