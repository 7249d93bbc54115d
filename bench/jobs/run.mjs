// npm run bench:jobs: jobs of pshub beside other queues, in one run, and what only pshub is asked.
import { parseArgs } from 'node:util'
import { ensureServer } from '../../tools/redis-server.mjs'
import { machine, machineText } from '../kit/machine.mjs'
import { prepareBench } from '../kit/prepare.mjs'

const shapeNames = ['drain', 'keyed', 'many-keys', 'scheduled', 'scheduled-shards', 'shards', 'calls-beside-jobs']
const systemNames = ['pshub', 'bullmq', 'bee-queue', 'sidekiq', 'lowkiq']

const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: shapeNames.join(',') },
    systems: { type: 'string', default: systemNames.join(',') },
    jobs: { type: 'string', default: '50000' },
    waiting: { type: 'string', default: '1000000' },
    slots: { type: 'string', default: '5,64' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const help = `npm run bench:jobs -- [options]     all of it takes about 11 minutes
  --shape list    of ${shapeNames.join(', ')} (all)
                  drain: jobs are enqueued at once, and then run by one process, beside the other systems (3 min)
                  keyed: the same of jobs with keys, in lines and merged, beside plain ones and Lowkiq (3 min)
                  many-keys: what a key takes that waits, how long Redis stalls, and a hot key beside quiet ones (2 min)
                  scheduled: how late jobs are that are due while very many wait, and how long Redis stalls (1 min)
                  scheduled-shards: the same of a queue that is spread over three masters, loaded by two processes (2 min)
                  shards: what calls and jobs cost of a queue that is spread over three masters, and of one on a single one (3 min)
                  calls-beside-jobs: waits of calls alone, and while jobs drain on the same worker (1 min)
  --jobs n        blank jobs of drain, shards and calls-beside-jobs (50000)
  --waiting n     jobs that wait in scheduled and scheduled-shards, and keys in many-keys (1000000)
  --slots list    at once, of drain (5,64)
  --rounds n      interleaved rounds; shown are medians (3)
  --systems list  of ${systemNames.join(', ')}; those of Ruby are installed by this, or left out where that cannot be
  --json          all numbers on stdout`

const find = (systems, wanted) => {
  const versions = {}
  const names = wanted.filter(name => {
    const { version, missing } = systems[name].find()
    if (version) versions[name] = version
    if (missing) console.error(`Left out: ${name}, because ${missing}.`)
    return missing === undefined
  })
  return { names, versions }
}

if (values.help) console.log(help)
else {
  prepareBench()
  const server = ensureServer()
  // Not before what they import is there.
  const { systems } = await import('./systems.mjs')
  const shapes = values.shape.split(',')
  const wanted = ['pshub', ...values.systems.split(',').filter(name => name !== 'pshub')]
  const { names, versions } =
    shapes.includes('drain') || shapes.includes('keyed') ? find(systems, wanted) : { names: ['pshub'], versions: {} }
  const options = {
    names,
    jobs: Number(values.jobs),
    waiting: Number(values.waiting),
    slots: values.slots.split(',').map(Number),
    rounds: Number(values.rounds),
  }
  const told = { ...machine(server), gems: versions }
  const command = `npm run bench:jobs -- ${process.argv.slice(2).join(' ')}`.trim()
  if (!values.json) {
    console.log(`${command}\n${machineText(told)}`)
    for (const [name, version] of Object.entries(versions)) console.log(`${name} ${version}`)
  }
  const results = []
  for (const shape of shapes) {
    const { [shape.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase())]: run } = await import(
      `./shapes/${shape}.mjs`
    )
    const result = await run(options)
    results.push({ shape, ...result })
    if (values.json) continue
    console.log(`\n${result.title}`)
    console.table(result.rows)
    for (const line of result.notes ?? []) console.log(line)
  }
  if (values.json) console.log(JSON.stringify({ command, machine: told, results }, null, 2))
}
