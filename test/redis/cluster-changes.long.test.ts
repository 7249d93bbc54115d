import { describe, expect, it } from 'vitest'
import { defineTask, type Hub, type HubError } from '../../src/index.ts'
import { slotOf } from '../../src/redis/slots.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { type ClusterNode, eventually, useCluster } from '../support/cluster-fixture.ts'
import { counting as counted, readAll, upTo } from '../support/counted-streams.ts'
import { delay } from '../support/delay.ts'

const it_ = useCluster({ masters: 3, replicas: 3, spares: 2 })

/** A task that counts how often each call of it was started. */
const counting = (name: string) => {
  const starts = new Map<number, number>()
  const task = defineTask(name, { timeoutMs: 8000 }, args => {
    const { n } = args as { n: number }
    starts.set(n, (starts.get(n) ?? 0) + 1)
    return n
  })
  return { task, starts }
}

interface Outcome {
  n: number
  code: string | undefined
  atMs: number
}

/** Calls without a pause until it is told to stop; what became of each. */
const load = (hub: Hub, task: string, inFlight = 8) => {
  const outcomes: Outcome[] = []
  let next = 0
  let isOver = false
  const line = async () => {
    while (!isOver) {
      const n = next++
      const atMs = performance.now()
      const code = await hub.call(task, { n }, { timeoutMs: 15_000 }).then(
        () => undefined,
        (error: HubError) => error.code,
      )
      outcomes.push({ n, code, atMs })
      await delay(5, 'so that refused calls make no busy loop')
    }
  }
  const lines = Array.from({ length: inFlight }, line)
  return {
    outcomes,
    stop: async () => {
      isOver = true
      await Promise.all(lines)
      return outcomes
    },
  }
}

const ofNode = async (name: string, node: ClusterNode): Promise<string> => {
  for (let n = 0; ; n++) if ((await it_.cluster.ownerOf(`{${name}${n}}`)) === node) return `${name}${n}`
}

const never = (outcomes: Outcome[], starts: Map<number, number>) => {
  const certain = new Set(['NotEnqueued', 'NoSuchTask', 'NoWorkers', 'Overloaded', 'Expired'])
  for (const { n, code } of outcomes) {
    const count = starts.get(n) ?? 0
    expect(count, `starts of call ${n}, which ended as ${code}`).toBeLessThanOrEqual(1)
    if (code === undefined) expect(count).toBe(1)
    if (code !== undefined && certain.has(code)) expect(count, `starts of call ${n}, which ended as ${code}`).toBe(0)
  }
}

describe('a Cluster that changes', () => {
  it('moves the slot of a queue, of replies and of the registry under load, and no call is lost or run twice', async () => {
    const [from, to] = it_.cluster.masters as [ClusterNode, ClusterNode]
    const queue = await ofNode('moved', from)
    const { task, starts } = counting('moved:1.0')
    await it_.worker(queue, [task])
    const hub = it_.hub()
    await hub.call('moved:1.0', { n: -1 })
    const calls = load(hub, 'moved:1.0')
    const keys = makeKeys(it_.namespace)
    for (const key of [keys.queue(queue).calls, keys.reply(hub.id), keys.tasks, keys.stats]) {
      const before = calls.outcomes.length
      const slot = slotOf(key)
      const owner = await it_.cluster.ownerOfSlot(slot)
      await it_.cluster.moveSlot(slot, owner === to ? from : to)
      await eventually(() => calls.outcomes.length > before + 50)
    }
    const outcomes = await calls.stop()
    expect(outcomes.filter(({ code }) => code !== undefined)).toEqual([])
    never(outcomes, starts)
  })

  it('moves the slots of a queue and of replies in the middle of streams, and each chunk comes once', async () => {
    const [from, to] = it_.cluster.masters as [ClusterNode, ClusterNode]
    const queue = await ofNode('streamed', from)
    await it_.worker(queue, [counted])
    const hub = it_.hub()
    let came = 0
    const streams = Array.from({ length: 4 }, () => hub.stream(counted, { count: 1500, ms: 1 }))
    const reading = Promise.all(streams.map(stream => readAll(stream, () => came++)))
    const keys = makeKeys(it_.namespace)
    for (const key of [keys.reply(hub.id), keys.queue(queue).calls, keys.reply(hub.id)]) {
      const before = came
      await eventually(() => came > before + 100)
      const slot = slotOf(key)
      await it_.cluster.moveSlot(slot, (await it_.cluster.ownerOfSlot(slot)) === to ? from : to)
    }
    for (const read of await reading) expect(read).toEqual({ chunks: upTo(1500), error: undefined })
  }, 90_000)

  it('loses a master and promotes its replica: its calls go on, and those of other nodes never stopped', async () => {
    const victim = await it_.cluster.ownerOf(`{${it_.queues()[0]}}`)
    const others = it_.cluster.masters.find(node => node !== victim)!
    const [lost, kept] = [await ofNode('lost', victim), await ofNode('kept', others)]
    const [ofLost, ofKept] = [counting('lost:1.0'), counting('kept:1.0')]
    await it_.worker(lost, [ofLost.task])
    await it_.worker(kept, [ofKept.task])
    const isElsewhere = async (hub: Hub) =>
      (await it_.cluster.ownerOf(makeKeys(it_.namespace).reply(hub.id))) !== victim
    let keptHub = it_.hub()
    while (!(await isElsewhere(keptHub))) keptHub = it_.hub()
    const lostHub = it_.hub()
    const calls = [load(lostHub, 'lost:1.0'), load(keptHub, 'kept:1.0')] as const
    await eventually(() => calls.every(({ outcomes }) => outcomes.length > 100))
    const killed = calls.map(({ outcomes }) => outcomes.length)
    await it_.cluster.failOver(victim)
    const promotedAt = performance.now()
    await eventually(() => calls[0].outcomes.some(({ code, atMs }) => code === undefined && atMs > promotedAt))
    await eventually(() => calls[1].outcomes.some(({ atMs }) => atMs > promotedAt))
    const [lostOutcomes, keptOutcomes] = [await calls[0].stop(), await calls[1].stop()]
    never(lostOutcomes, ofLost.starts)
    never(keptOutcomes, ofKept.starts)
    expect(keptOutcomes.length).toBeGreaterThan(killed[1]!)
    expect(keptOutcomes.filter(({ code }) => code !== undefined)).toEqual([])
  }, 60_000)
})
