// What must hold whatever happens, as functions from a trial's history to violations. They know nothing of Redis or
// processes, so that hand-written histories can show that each of them finds what it is for.

import { stalledMs } from './stalls.mjs'

const settleGraceMs = 250
const lateStartMs = 100
const wedgeMs = 6000
export const ms = us => us / 1000

const violation = (invariant, what, token) => ({ invariant, what, token })

/** Milliseconds within [from, to] (us) in which a process got no processor. */
export const blockedMs = (lags, from, to) =>
  ms(lags.reduce((sum, lag) => sum + Math.max(0, Math.min(lag.to, to) - Math.max(lag.from, from)), 0))

/** By how much a call settled too late, less the time in which its process could not run. */
const latenessMs = (call, settle, lags) => {
  const deadline = call.at + call.timeoutMs * 1000
  const late = ms(settle.t - deadline) - settleGraceMs
  return late > 0 ? late - blockedMs(lags, deadline, settle.t) : late
}

/** I1: every call settles exactly once, by its deadline + 250 ms. Calls of a caller that was killed are nobody's. */
export const settling = ({ calls, lags, processes, twice }) => {
  const found = []
  let excused = 0
  for (const call of calls.values()) {
    const [settle] = call.settles
    if (!settle) {
      if (processes.get(call.by)?.killedAt === undefined)
        found.push(violation('I1', 'a call never settled', call.token))
      continue
    }
    if (call.settles.length > 1) found.push(violation('I1', 'a call settled more than once', call.token))
    const rawMs = ms(settle.t - call.at) - call.timeoutMs - settleGraceMs
    const lateMs = latenessMs(call, settle, lags.get(call.by) ?? [])
    if (lateMs > 0)
      found.push(violation('I1', `settled ${Math.round(rawMs)} ms too late, as ${settle.code}`, call.token))
    else if (rawMs > 0) excused++
  }
  if (twice > 0) found.push(violation('I1', `${twice} calls were settled again inside the hub`))
  return { found, excused }
}

/** I2: a class that says "not run" is only given to calls that never start; one that says "ran" to those that did. */
export const truth = ({ calls }) =>
  [...calls.values()].flatMap(({ token, settles: [settle], runs }) => {
    if (!settle) return []
    if (settle.code === 'Crash') return [violation('I2', `not a HubError: ${settle.message}`, token)]
    if (settle.ran === 'no' && runs.length > 0) return [violation('I2', `${settle.code}, and it was started`, token)]
    const ranByWord = settle.code === 'OK' || settle.ran === 'yes'
    return ranByWord && runs.length === 0 ? [violation('I2', `${settle.code}, and it was never started`, token)] : []
  })

/** I4: what starts was called. */
export const ghosts = ({ calls, runs }, { handPushed = 'hand-' } = {}) =>
  [...runs.values()]
    .filter(({ token }) => !calls.has(token) && !String(token).startsWith(handPushed))
    .map(({ token }) => violation('I4', 'started, and nobody called it', token))

const startedTwice = ({ idempotent, runs }) => !idempotent && runs.length > 1

/** I5: a call of a task that is not idempotent starts at most once, but for what a promoted replica cannot know. */
export const duplicates = (history, unheardMs) =>
  [...history.calls.values()]
    .filter(call => startedTwice(call) && unheardBy(history, call, unheardMs) === undefined)
    .map(({ token, runs }) => violation('I5', `started ${runs.length} times: ${runs.map(r => r.run)}`, token))

/**
 * How long before its master was cut off a call that started twice had started first, milliseconds, at most `unheardMs`; negative for one
 * that started while the master went on by itself. Undefined where nothing excuses it.
 */
const unheardBy = ({ losses }, { runs }, unheardMs) => {
  if (unheardMs === undefined || runs.length > 2) return undefined
  const us = unheardMs * 1000
  // It is written down a little after its claim.
  const loss = losses.find(({ from, until }) => runs[0].at >= from - us && runs[0].at <= until + us)
  return loss && ms(loss.from - runs[0].at)
}

/** The second starts that are excused by that: how many, and how long before the cut the earliest of them was. */
export const secondStarts = (history, unheardMs) => {
  const before = [...history.calls.values()]
    .filter(startedTwice)
    .map(call => unheardBy(history, call, unheardMs))
    .filter(each => each !== undefined)
  return { count: before.length, earliestMs: Math.max(0, ...before) }
}

/** I6: the result of a worker that had lost its lease before the run ended is not accepted. */
export const fencing = ({ calls, runs, adoptions }) => {
  const adoptedAt = new Map(adoptions.map(({ worker, at }) => [worker, at]))
  return [...calls.values()].flatMap(({ token, settles: [settle] }) => {
    const run = settle?.run && runs.get(settle.run)
    if (!run || run.end === undefined) return []
    const lostAt = adoptedAt.get(run.worker)
    return lostAt !== undefined && lostAt < run.end
      ? [
          violation(
            'I6',
            `the result of a worker was accepted ${Math.round(ms(run.end - lostAt))} ms after it was lost`,
            token,
          ),
        ]
      : []
  })
}

/** I7: a reply belongs to its call. */
export const replies = ({ calls }) =>
  [...calls.values()]
    .filter(({ settles }) => settles.some(({ foreign }) => foreign))
    .map(({ token }) => violation('I7', 'got the result of another call', token))

/** When it was on this machine's clock when Redis' clock said so; that may have been set meanwhile. */
const ownTimeOf = (redisUs, clocks) => {
  const isIt = ({ at, offsetUs }, index) => index === 0 || redisUs - offsetUs >= at
  return redisUs - (clocks.findLast(isIt)?.offsetUs ?? 0)
}

/** I10: nothing starts after its deadline, on Redis' clock; what its process could do nothing about does not count. */
export const lateStarts = history => {
  const { runs, lags, clocks } = history
  return [...runs.values()].flatMap(({ token, by, at, pushedUs, ttlMs }) => {
    if (pushedUs === undefined || ttlMs === undefined) {
      return String(token).startsWith('hand-') ? [] : [violation('I10', 'its deadline was not seen', token)]
    }
    const deadline = ownTimeOf(pushedUs, clocks) + ttlMs * 1000
    const lostMs = Math.max(blockedMs(lags.get(by) ?? [], deadline, at), stalledMs(history, deadline, at))
    const lateMs = ms(at - deadline) - lostMs
    return ttlMs > 0 && lateMs > lateStartMs
      ? [violation('I10', `started ${Math.round(lateMs)} ms after its deadline`, token)]
      : []
  })
}

/** I11: a worker never runs more than it has slots. */
export const slots = ({ runs, processes }) => {
  const found = []
  for (const { name, slots: size } of processes.values()) {
    if (size === undefined) continue
    const steps = [...runs.values()]
      .filter(({ by }) => by === name)
      .flatMap(({ at, end }) =>
        end === undefined
          ? [[at, 1]]
          : [
              [at, 1],
              [end, -1],
            ],
      )
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    let busy = 0
    let most = 0
    for (const [, step] of steps) most = Math.max(most, (busy += step))
    if (most > size) found.push(violation('I11', `${name} ran ${most} with ${size} slots`))
  }
  return found
}

/** Backlog, idle slots and no start for 6 s, outside the fault; or what was held not settling when the load is over. */
export const wedges = history => {
  const { samples, runs, processes, marks } = history
  const found = []
  const starts = [...runs.values()].map(({ at }) => at)
  const size = [...processes.values()].reduce((sum, { slots = 0 }) => sum + slots, 0)
  let since
  for (const { t, backlog } of samples) {
    const inFault = t >= (marks.fault ?? Infinity) && t <= (marks.healed ?? Infinity)
    if (!(backlog > 0) || inFault) since = undefined
    else since ??= t
    if (since === undefined || ms(t - since) < wedgeMs) continue
    const from = t - (wedgeMs + stalledMs(history, since, t)) * 1000
    if (since > from) continue
    const running = [...runs.values()].filter(run => run.at < from && !(run.end < t)).length
    if (running < size && !starts.some(at => at >= from && at <= t)) {
      found.push(violation('I14', `${backlog} waited for 6 s with idle slots`))
      since = undefined
    }
  }
  return found
}
