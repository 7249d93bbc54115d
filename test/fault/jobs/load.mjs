// Jobs of all kinds, as fast as asked for, and what was acknowledged of them.
import { setTimeout as sleep } from 'node:timers/promises'

/** Of each queue. */
const mostKeys = 12
/** Of the last payloads of a key some are enqueued once more. */
const mostRepeatable = 4

/**
 * @param random 0 to 1
 * @param work how long jobs take at most, and the share of them that fails at first
 * @param acts what some of the jobs do to their workers: `{ share, act, ms?, isDeadly? }`
 * @param aheadMs how far Redis' clock is ahead of this one
 * @param durable what all is enqueued with
 * @param merged `keys` of each queue that have merged jobs, how many payloads come at a time at most, and the `share` of these in all
 */
export const makeLoad = ({ hub, random, acts = [], work = {}, merged, aheadMs, durable = {} }) => {
  const acknowledged = { jobs: [], chains: [], batches: [], keyed: [], merged: [] }
  const { longestMs = 120, failing = 0.2 } = work
  const other = queue => (queue === 'q' ? 'r' : 'q')
  let tokens = 0
  let isOn = false
  let underWay = 0

  const args = () => ({
    token: ++tokens,
    ms: Math.floor(random() ** 3 * longestMs),
    ...(random() < failing ? { fails: 1 + Math.floor(random() * 3) } : {}),
  })
  const entry = (queue, options = {}) => [`${queue}-work:1.0`, args(), { queue, ...options }]

  const actOf = () => {
    let roll = random()
    return acts.find(({ share }) => (roll -= share) < 0)
  }

  const kinds = [
    async queue => {
      const act = actOf()
      if (act) {
        const given = { token: ++tokens, act: act.act, ms: act.ms ?? 1 }
        const { id } = await hub.enqueue(`${queue}-${act.isDeadly ? 'acts' : 'work'}:1.0`, given, { queue, ...durable })
        acknowledged.jobs.push({ id, at: Date.now(), isDeadly: act.isDeadly })
        return
      }
      const [task, given, options] = entry(queue, random() < 0.3 ? { delayMs: Math.floor(random() * 1500) } : {})
      const { id } = await hub.enqueue(task, given, {
        ...options,
        ...durable,
        ...(random() < 0.2 ? { priority: 'high', tracked: true } : {}),
      })
      acknowledged.jobs.push({ id, at: Date.now() })
    },
    async queue => {
      const { id, steps } = await hub.chain(
        [entry(queue), entry(other(queue), { pass: 'before' }), entry(queue, { pass: 'before' })],
        {
          keepResultMs: 3_600_000,
          ...durable,
        },
      )
      acknowledged.chains.push({ id, steps: steps.map(step => step.id), at: Date.now() })
    },
    async queue => {
      const entries = Array.from({ length: 5 }, (_, n) => entry(n % 2 ? queue : other(queue)))
      const batch = await hub.batch(entries, { then: entry(queue, { keepResultMs: 3_600_000 }), ...durable })
      acknowledged.batches.push({ id: batch.id, queue, ids: batch.ids, then: batch.after.id, at: Date.now() })
    },
  ]

  /** By queue and key: which one was given last, and what it waits for. */
  const keys = new Map()
  /** The next job of one of few keys. Of a key one is on its way at a time: so its number says which one it is. */
  const enqueueKeyed = queue => {
    const key = `key-${Math.floor(random() * mostKeys)}`
    const place = `${queue} ${key}`
    const { n, given } = keys.get(place) ?? { n: 0, given: undefined }
    const told = { ...args(), key, n: n + 1 }
    const enqueue = async () => {
      const delay = random() < 0.1 ? { delayMs: Math.floor(random() * 800) } : {}
      const job = await hub.enqueue(`${queue}-keyed:1.0`, told, { queue, key, ...delay, ...durable })
      acknowledged.keyed.push({ id: job.id, queue, place: job.queue, key, n: told.n, at: Date.now() })
    }
    const next = Promise.resolve(given).then(enqueue, enqueue)
    keys.set(place, { n: n + 1, given: next })
    return next
  }
  kinds.push(enqueueKeyed)

  /** Of merged jobs: what was given, by queue, key and number. Every second key has scores of its own. */
  const given = new Map()
  const mergedKeys = new Map()
  const payloadOf = (place, own, hasScores) => {
    const n = ++own.n
    const isRepeated = random() < 0.15
    const score = hasScores ? n + Math.floor(random() * 6) : undefined
    given.set(`${place} ${n}`, { score, isOrdered: !hasScores && !isRepeated })
    const args = { n, ms: Math.floor(random() ** 4 * 100), ...(random() < 0.03 ? { fails: 0.4 } : {}) }
    const payload = { id: `${place} ${n}`, args, score }
    if (isRepeated) own.repeatable = [payload, ...own.repeatable].slice(0, mostRepeatable)
    return payload
  }
  /** Some payloads of one of many keys, new ones and some that came before. Of a key one step is on its way at a time. */
  const enqueueMerged = queue => {
    const number = Math.floor(random() * merged.keys)
    const [key, place] = [`merged-${number}`, `${queue} merged-${number}`]
    const own = mergedKeys.get(place) ?? { n: 0, repeatable: [], given: undefined }
    mergedKeys.set(place, own)
    const payloads = Array.from({ length: 1 + Math.floor(random() * merged.burst) }, () => {
      const again = random() < 0.1 ? own.repeatable[0] : undefined
      return again ?? payloadOf(place, own, number % 2 === 1)
    })
    const delay = random() < 0.1 ? { delayMs: Math.floor(random() * 800) } : {}
    const enqueue = async () => {
      const sentAt = Date.now() + aheadMs()
      const entries = payloads.map(({ args, score }) => {
        return [`${queue}-merged:1.0`, args, { queue, key, ...delay, ...(score === undefined ? {} : { score }) }]
      })
      await hub.enqueueMany(entries, durable)
      for (const { id } of payloads) acknowledged.merged.push({ id, sentAt })
    }
    const next = Promise.resolve(own.given).then(enqueue, enqueue)
    own.given = next
    return next
  }

  return {
    acknowledged,
    given,
    /** How many tries were not acknowledged, because Redis was away. */
    refused: 0,
    async run(perSecond) {
      isOn = true
      while (isOn) {
        const isMerged = random() < merged.share
        const roll = random()
        const kind = isMerged ? enqueueMerged : kinds[roll < 0.4 ? 3 : roll < 0.85 ? 0 : roll < 0.95 ? 1 : 2]
        underWay++
        kind(random() < 0.6 ? 'q' : 'r')
          .catch(() => {
            this.refused++
          })
          .finally(() => underWay--)
        await sleep(1000 / perSecond)
      }
    },
    /** Resolves when nothing is on its way any more. */
    async stop() {
      isOn = false
      while (underWay > 0) await sleep(20)
    },
  }
}
