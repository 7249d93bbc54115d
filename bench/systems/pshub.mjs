// pshub as a user runs it: schemas checked on both sides, leases, tracked both ways.
import { defineTask, Hub, Worker } from '../../dist/index.js'

const schema = { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'], additionalProperties: false }
const blank = defineTask('blank:1.0', { args: schema, result: schema }, ({ x }) => ({ x }))

export const startWorker = async (redis, slots) => {
  const worker = new Worker({ redis, queue: 'bench', slots, tasks: [blank] })
  await worker.start()
  return () => worker.stop()
}

export const startCaller = async redis => {
  const hub = new Hub({ redis })
  let x = 0
  return { call: () => hub.call('blank:1.0', { x: x++ }, { timeoutMs: 5000 }), close: () => hub.close() }
}
