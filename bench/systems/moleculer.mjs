// Moleculer over NATS, with what its defaults switch on.
import { randomUUID } from 'node:crypto'
import { ServiceBroker } from 'moleculer'

const makeBroker = url =>
  new ServiceBroker({ nodeID: randomUUID(), transporter: url, logger: false, requestTimeout: 20_000 })

export const startWorker = async ({ url }) => {
  const broker = makeBroker(url)
  broker.createService({ name: 'bench', actions: { blank: context => context.params } })
  await broker.start()
  return { close: () => broker.stop() }
}

export const startCaller = async ({ url, args }) => {
  const broker = makeBroker(url)
  await broker.start()
  await broker.waitForServices('bench')
  return { call: () => broker.call('bench.blank', args), close: () => broker.stop() }
}
