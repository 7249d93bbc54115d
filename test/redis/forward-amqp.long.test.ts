import amqplib, { type Channel, type ChannelModel, type GetMessage } from 'amqplib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AmqpOptions, amqp } from '../../src/index.ts'
import { startBroker } from '../../tools/rabbitmq.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { startForwarder } from '../support/forwarding.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()
const forward = 'billing'
let broker: Awaited<ReturnType<typeof startBroker>>
let proxy: ChaosProxy
let connection: ChannelModel
let channel: Channel

beforeAll(async () => {
  broker = await startBroker()
  proxy = await ChaosProxy.start(broker.port)
  connection = await amqplib.connect(broker.url)
  channel = await connection.createChannel()
}, 180_000)
afterAll(async () => {
  await connection?.close()
  await proxy?.stop()
  await broker?.stop()
})

let count = 0
/** A queue of a test's own. */
const makeQueue = async (options: object = {}) => {
  const queue = `queue-${count++}`
  await channel.assertQueue(queue, { durable: true, ...options })
  return queue
}
const take = async (queue: string): Promise<GetMessage> =>
  (await eventually(() => channel.get(queue, { noAck: true }))) as GetMessage

const urlOf = (port: number) => `amqp://guest:guest@127.0.0.1:${port}`
const start = (options: Partial<AmqpOptions> = {}) =>
  startForwarder(fixture, { target: amqp({ url: urlOf(proxy.port), ...options }), backoff: 20 })
const errorsOf = async (id: string) => {
  // One that is on its way from one place to another is not seen.
  const details = await fixture
    .hub()
    .jobDetails(id, { queue: 'forward.billing' })
    .catch(() => undefined)
  return (details?.errors ?? []).map(({ message }) => message)
}

describe('AMQP', () => {
  it('gets each job as a persistent message that the broker has confirmed', async () => {
    const queue = await makeQueue()
    await channel.assertExchange('orders', 'topic')
    await channel.bindQueue(queue, 'orders', 'paid.*')
    const routingKey = ({ key }: { key?: string | undefined }) => `paid.${key}`
    await start({ exchange: 'orders', routingKey })
    const hub = fixture.hub({ name: 'shop' })
    const { id } = await hub.enqueue('paid', { order: 'ä' }, { forward, key: 'k' })
    const { content, properties, fields } = await take(queue)
    expect(JSON.parse(String(content))).toEqual({
      ...{ id, task: 'paid', args: { order: 'ä' }, key: 'k', from: 'shop', attempt: 1 },
    })
    expect(fields).toMatchObject({ exchange: 'orders', routingKey: 'paid.k' })
    expect(properties).toMatchObject({
      ...{ messageId: id, deliveryMode: 2, contentType: 'application/json', type: 'paid' },
      headers: { attempt: 1, key: 'k' },
    })
    await eventually(async () => !(await fixture.keys()).some(key => key.includes(':held:')))
  })

  it('refuses a message that no queue takes, unless that is said to be right', async () => {
    await start()
    const hub = fixture.hub()
    const queue = await makeQueue()
    const { ids } = await hub.enqueueMany([['nobody'], [queue]], { forward })
    const dead = hub.dead('forward.billing')
    await eventually(async () => (await dead.count()) === 1)
    const [lost] = await dead.list()
    expect(lost).toMatchObject({ id: ids[0], errors: [{ code: 'Refused' }] })
    expect(lost!.errors[0]!.message).toBe("no queue takes it: exchange '', key 'nobody'")
    expect((await take(queue)).properties.messageId).toBe(ids[1])
    await dead.delete()
    const target = amqp({ url: broker.url, mandatory: false })
    const job = { id: 'j'.repeat(22), task: 'nobody', args: {}, attempt: 1 }
    expect(await target.forward([job], new AbortController().signal)).toEqual({ taken: [job.id], failed: [] })
    await target.close?.()
  })

  it('is tried again after a nack', async () => {
    const queue = await makeQueue({ arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } })
    channel.sendToQueue(queue, Buffer.from('there is room for one'))
    await eventually(async () => (await channel.checkQueue(queue)).messageCount === 1)
    await start()
    const hub = fixture.hub()
    const refused = await hub.enqueue(queue, {}, { forward, retries: 10_000 })
    await eventually(async () => (await errorsOf(refused.id)).includes('the broker did not confirm it: message nacked'))
    await take(queue)
    expect((await take(queue)).properties.messageId).toBe(refused.id)
  })

  it('whose connection is cut between a message and its confirmation gets the message again', async () => {
    const queue = await makeQueue()
    await start()
    const hub = fixture.hub()
    // So that it is connected.
    await hub.enqueue(queue, {}, { forward })
    await take(queue)
    proxy.dropAnswersAfter = chunk => chunk.includes('cut here')
    const { id } = await hub.enqueue(queue, { text: 'cut here' }, { forward })
    await eventually(async () => (await channel.checkQueue(queue)).messageCount === 1)
    proxy.dropAnswersAfter = undefined
    // Whether the confirmation was on its way already or not.
    proxy.cut()
    proxy.heal()
    await eventually(async () => (await channel.checkQueue(queue)).messageCount === 2)
    const twice = [await take(queue), await take(queue)]
    expect(twice.map(({ properties }) => properties.messageId)).toEqual([id, id])
    expect(twice.map(({ content }) => JSON.parse(String(content)).attempt)).toEqual([1, 2])
  })
})
