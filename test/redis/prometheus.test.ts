import { expect, it } from 'vitest'
import { defineTask, prometheusText, TaskError, Worker } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { parseExposition } from '../support/prometheus-format.ts'

const it_ = useRedis()
const cli = useCli()

it('tells what workers did, and no counter falls when one of them leaves', async () => {
  const task = defineTask('t:1.0', { args: { type: 'object' } }, async ({ fail }: { fail?: boolean }) => {
    await delay(20, 'a run of known length')
    if (fail) throw new TaskError('no')
  })
  const workers = [await it_.worker([task], { slots: 1 }), await it_.worker([task], { slots: 1 })]
  const hub = it_.hub()
  const scrape = async () => parseExposition(prometheusText(await hub.overview())).samples
  const counts = async (code: string) =>
    new Map(
      (await scrape())
        .filter(({ name, labels }) => name === 'pshub_calls_total' && labels.code === code)
        .map(({ labels, value }) => [labels.worker!, value]),
    )
  const sum = (byWorker: Map<string, number>) => [...byWorker.values()].reduce((total, count) => total + count, 0)
  await Promise.all(Array.from({ length: 20 }, () => hub.call('t:1.0')))
  await failure(hub.call('t:1.0', { fail: true }))
  const before = await eventually(async () => {
    const ok = await counts('ok')
    return sum(ok) === 20 && ok.size === 2 ? ok : undefined
  })
  await eventually(async () => sum(await counts('TaskFailed')) === 1)
  const samples = await scrape()
  const wait = (phase: string) =>
    samples.find(
      ({ name, labels }) => name === 'pshub_wait_seconds' && labels.phase === phase && labels.quantile === '0.5',
    )!
  expect(wait('exec').value).toBeGreaterThan(0.018)
  // Twenty calls of 20 ms for two slots: they waited in Redis.
  expect(wait('backlog').value).toBeGreaterThan(0.03)
  expect(samples.find(({ name }) => name === 'pshub_queue_slots')).toMatchObject({ value: 2, labels: { queue: 'q' } })
  await workers[0]!.stop()
  await hub.call('t:1.0')
  const after = await eventually(async () => {
    const ok = await counts('ok')
    return (ok.get(workers[1]!.id) ?? 0) > before!.get(workers[1]!.id)! ? ok : undefined
  })
  expect(after!.size).toBe(1)
  for (const [id, count] of after!) expect(count).toBe(before!.get(id)! + 1)
})

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
