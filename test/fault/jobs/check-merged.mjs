// What must hold of merged jobs: no payload lost, one run of a key at a time, the lowest score first, and nothing left of any key.

/** Two processes read one clock, in whole milliseconds. */
const clockMs = 1
/** It is told to forget no more than a second; a busy disk makes that two. */
const forgottenMs = 3000

/** By queue and key, the runs of the journal that had it, in the order of their tokens: which of two came later, whatever clocks say. */
const runsByKey = events => {
  const stopped = new Map()
  for (const { e, run, isDone, at } of events) if (e === 'merged-stop') stopped.set(run, { at, isDone })
  const byKey = new Map()
  for (const { e, run, keys, fence, at } of events) {
    if (e !== 'merged') continue
    const { at: stoppedAt, isDone = false } = stopped.get(run) ?? {}
    for (const [key, numbers] of keys) {
      const place = `${run[0]} ${key}`
      const own = { run, fence, at, stoppedAt, isDone, numbers }
      byKey.set(place, [...(byKey.get(place) ?? []), own])
    }
  }
  for (const runs of byKey.values()) runs.sort((a, b) => a.fence - b.fence)
  return byKey
}

/** When a run of a process that something was done to ended with it; undefined for one that may go on. */
const killedAt = ({ hits }, { run, at }) =>
  hits.find(({ member, from }) => member === run.split('/')[0] && from >= at)?.from

/** Whether Redis was killed right behind the claim of a run, and forgot it: then its key was given to somebody else. */
const isForgotten = ({ outages }, run, next) =>
  outages.some(({ from }) => from >= run.at - clockMs && from <= next.at && from - run.at < forgottenMs)

/** One after the other, with tokens that grow. Returns how many went on beside the next one, where they may. */
const checkOverlaps = ({ place, runs, stage, mayOverlap, fail }) => {
  let fenced = 0
  for (const [at, next] of runs.entries()) {
    const before = runs[at - 1]
    if (before === undefined) continue
    if (before.fence === next.fence) fail('token given twice', place, next.fence)
    const end = before.stoppedAt ?? killedAt(stage, before)
    if (end !== undefined && end <= next.at + clockMs) continue
    if (mayOverlap || isForgotten(stage, before, next)) fenced++
    else fail('two runs of a key at a time', place, `${before.run} until ${end}, ${next.run} since ${next.at}`)
  }
  return fenced
}

/**
 * Payloads with scores of their own come in the order of these within a run. Those that have none, and were given once, come in the order in
 * which they were enqueued, from run to run: what failed comes back with the score that it had.
 */
const checkOrder = ({ place, runs, given, fail }) => {
  const first = new Map()
  for (const [turn, { run, numbers }] of runs.entries()) {
    if (new Set(numbers).size !== numbers.length) fail('a payload twice in one run', place, run)
    const scores = numbers.flatMap(n => given.get(`${place} ${n}`)?.score ?? [])
    if (scores.some((score, at) => score < scores[at - 1])) fail('not by score', place, run, scores)
    const ordered = numbers.filter(n => given.get(`${place} ${n}`)?.isOrdered)
    if (ordered.some((n, at) => n < ordered[at - 1])) fail('not as enqueued', place, run, ordered)
    for (const n of ordered) if (!first.has(n)) first.set(n, turn)
  }
  let before
  for (const [n, turn] of [...first].sort(([a], [b]) => a - b)) {
    if (before !== undefined && turn < before.turn) fail('before one that waited with it', place, n, before.n)
    if (before === undefined || turn > before.turn) before = { n, turn }
  }
}

/** @param given what was sent, by queue, key and number; `acknowledged` what of it was answered for, with when it was sent */
export const checkMerged = ({ events, given, acknowledged, dead, left, stage, mayOverlap, fail }) => {
  const byKey = runsByKey(events)
  const done = new Map()
  let fenced = 0
  let payloads = 0
  for (const [place, runs] of byKey) {
    fenced += checkOverlaps({ place, runs, stage, mayOverlap, fail })
    checkOrder({ place, runs, given, fail })
    for (const { numbers, fence, isDone } of runs) {
      payloads += numbers.length
      for (const n of numbers) {
        const id = `${place} ${n}`
        if (isDone) done.set(id, Math.max(fence, done.get(id) ?? 0))
      }
    }
  }
  for (const { id, sentAt } of acknowledged) {
    // Claimed after it was sent: one that had it before had another one, which is equal.
    const wasDone = (done.get(id) ?? 0) >= (sentAt - clockMs) * 1000
    if (!wasDone && !dead.has(id)) fail('lost payload', id, `sent ${sentAt}, last done ${done.get(id)}`)
  }
  for (const key of left) if (/:(merged:.*|tried:.*|next:.*)$/.test(key)) fail('left behind', key)
  const runs = new Set([...byKey.values()].flatMap(own => own.map(({ run }) => run))).size
  return { runs, payloads, keys: byKey.size, fenced }
}
