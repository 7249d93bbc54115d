// npm run bench:overload: what is left of the capacity when several times as much is asked, beside BullMQ.
import { parseArgs } from 'node:util'
import { prepareBench } from '../kit/prepare.mjs'
import { measureOverload, overloadRow } from './measure.mjs'

const { values } = parseArgs({
  options: {
    systems: { type: 'string', default: 'pshub,bullmq' },
    loads: { type: 'string', default: '3,10' },
    seconds: { type: 'string', default: '20' },
    slots: { type: 'string', default: '8' },
    hubs: { type: 'string', default: '1,20' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const help = `npm run bench:overload -- [options]
  --loads list    times the capacity (default 3,10)
  --seconds n     length of each load (default 20)
  --slots n       slots of the worker, each taking a task of 20 ms (default 8)
  --hubs list     hubs that call, in up to five processes (default 1,20; BullMQ: one queue for each process)
  --systems list  default pshub,bullmq
  --json          all numbers as JSON on stdout`

if (values.help) console.log(help)
else {
  prepareBench()
  const results = []
  for (const load of values.loads.split(',').map(Number)) {
    for (const system of values.systems.split(',')) {
      for (const hubs of values.hubs.split(',').map(Number)) {
        const options = { seconds: Number(values.seconds), slots: Number(values.slots), hubs }
        results.push(await measureOverload(system, load, options))
      }
    }
  }
  if (values.json) console.log(JSON.stringify(results, null, 2))
  else {
    console.log(
      `A task of 20 ms in ${values.slots} slots, a deadline of 1 s, ${values.seconds} s of each load; waits of`,
    )
    console.log(
      'what was answered, of calls begun after the first second, in which a burst is let in; then a burst on idle slots',
    )
    console.table(results.map(overloadRow))
  }
}
