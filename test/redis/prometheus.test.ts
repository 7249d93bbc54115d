import { expect, it } from 'vitest'
import { defineTask, prometheusText, Worker } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { parseExposition } from '../support/prometheus-format.ts'

const it_ = useRedis()
const cli = useCli()

it('tells how many keys of jobs wait and run, how late they are, and for how long', async () => {
  let end: () => void = () => undefined
  const sync = defineTask('sync:1.0', { keyed: 'merged' }, () => new Promise<void>(resolve => (end = resolve)))
  await it_.worker([sync], { slots: 1 })
  const hub = it_.hub()
  const scrape = async () => {
    const { samples } = parseExposition(prometheusText(await hub.overview()))
    const value = (name: string) => samples.find(each => each.name === name && each.labels.queue === 'q')?.value
    const names = ['waiting_keys', 'running_keys', 'key_lag_seconds', 'longest_key_seconds']
    return names.map(name => value(`pshub_queue_${name}`))
  }
  expect(await scrape()).toEqual([undefined, undefined, undefined, undefined])
  for (const key of ['a', 'b']) await hub.enqueue('sync:1.0', 1, { key })
  await eventually(async () => {
    const [waiting, running, lag, longest] = await scrape()
    return waiting === 1 && running === 1 && lag! > 0.05 && longest! > 0.05
  })
  end()
  await eventually(async () => (await scrape())[0] === 0 && (await scrape())[2] === 0)
  end()
  await eventually(async () => (await scrape())[1] === undefined)
})

it('is printed by pshub metrics', async () => {
  expect(await cli.run(['metrics'])).toEqual({ code: 0, out: '', err: '' })
  const tasks = [defineTask('t:1.0', {}, () => 1)]
  const worker = new Worker({ redis: cli.url, namespace: cli.namespace, queue: 'q', logLevel: 'silent', tasks })
  it_.onEnd(() => worker.stop())
  await worker.start()
  const { samples } = parseExposition((await cli.run(['metrics'])).out)
  expect(samples).toContainEqual(expect.objectContaining({ name: 'pshub_queue_slots', labels: { queue: 'q' } }))
})
