// What a trial measures beside the invariants, held against what its row expects.

import { blockedMs, ms } from './invariants.mjs'
import { stalledMs } from './stalls.mjs'

/**
 * What a row expects.
 * @typedef {object} Expectations
 * @property {string[]} [allowed] classes beside OK in which calls that the fault touched may end
 * @property {(call: any) => string[] | undefined} [allowedFor] the same by call
 * @property {(call: any) => boolean | undefined} [isRight] judges a call by its `act` and `code`, fault or not
 * @property {'all' | 'idempotent' | 'replies'} [promised] calls that must succeed in spite of the fault, else they count
 *   as lost; 'replies': those whose handlers ended in time
 * @property {boolean} [blocksWorkers] the fault itself keeps workers from their processor
 * @property {number} [calmMs] calls made this long after the fault still count as touched. Default 3000
 * @property {number} [recoverMs] by when 95 % of the calls succeed again. Default 10,000
 * @property {number} [firstOkMs] by when the first one does. Default 3000
 * @property {number} [steady] another share than 95 %
 * @property {boolean} [anyRecovery] recovery is told, not judged
 * @property {number} [detectMs] by when a death is noticed. Default 6000
 * @property {number} [falseDeaths] living workers that may be taken for dead. Default 0
 * @property {'noticed' | 'any'} [deaths] whether somebody is left who must notice
 * @property {number} [reconnectsPerSecond] default 5
 * @property {number} [linesPerSecond] default 10
 * @property {number} [unreadMs] by when after the end of a stream that the fault touched its handler ends. Default: by its deadline
 * @property {number} [unheardMs] what a master did so long before it was cut off may be unknown to the next one: a call may start again
 */

const bucketUs = 500_000

/** The calls that a fault can excuse: under way between its beginning and a little after its end. */
export const isTouched = (history, call, calmMs) => {
  const { fault, healed } = history.marks
  const settledAt = call.settles[0]?.t ?? Infinity
  if (settledAt < fault - 100_000) return false
  return call.at <= healed || ms(call.at - healed) - stalledMs(history, healed, call.at) <= calmMs
}

/** Classes of calls that waited for too long, for a connection too, or would have had to. */
const waited = ['Timeout', 'Expired', 'Overloaded', 'NotEnqueued']
/** Share of the time without a processor; for a refusal half of it: 150 ms are enough for a list to stand, and be kept short. */
const starvedShare = 0.1
const beforeUs = 3_000_000
/** What waited for that long, without what the machine took, was not late but lost. */
const enoughMs = 5000

/**
 * Whether a process got no processor for a good part of the time in which this call waited, and shortly before: then
 * nobody could have served it in time. That is told apart and not hidden; it excuses lateness alone, and no other class.
 */
const isStarved = (history, { at, settles: [settle], act }, { blocksWorkers = false }) => {
  if (act || !waited.includes(settle?.code)) return false
  if (ms(settle.t - at) - stalledMs(history, at, settle.t) > enoughMs) return false
  const from = at - beforeUs
  const share = settle.code === 'Overloaded' ? starvedShare / 2 : starvedShare
  return [...history.lags].some(([name, own]) => {
    const isOnPurpose = blocksWorkers && name.startsWith('worker')
    return !isOnPurpose && blockedMs(own, from, settle.t) >= share * ms(settle.t - from)
  })
}

/** The longest time between two of these, milliseconds, less what was lost of it. */
export const between = (times, lostMs = () => 0) => {
  const gaps = times.slice(1).map((time, i) => ms(time - times[i]) - lostMs(times[i], time))
  return Math.max(0, ...gaps)
}

const isOver = ({ processes }, call) => processes.get(call.by)?.killedAt !== undefined

/**
 * How calls settled, and which of them settled in a class that their row does not allow.
 * @param {any} history
 * @param {Expectations} expected
 */
export const classes = (history, expected) => {
  const { calmMs = 3000, isRight } = expected
  const counts = {}
  const wrong = []
  const lost = []
  let starved = 0
  for (const call of history.calls.values()) {
    const {
      token,
      settles: [settle],
      act,
    } = call
    const code = settle?.code ?? (isOver(history, call) ? 'killed' : 'none')
    counts[code] = (counts[code] ?? 0) + 1
    const touched = isTouched(history, call, calmMs)
    const what = `${code}${touched ? '' : ' without a fault'} ${settle?.message ?? ''}`
    const asTold = isRight?.({ ...call, code })
    if (asTold === true || code === 'killed') continue
    const isAllowed = asTold !== false && allowedCodes(call, touched, expected).includes(code)
    const isMissed = touched && !act && isPromised(call, code, expected)
    if ((!isAllowed || isMissed) && isStarved(history, call, expected)) starved++
    else if (code === 'none' || isMissed) {
      lost.push({ invariant: 'lost', what, token })
    } else if (!isAllowed) {
      wrong.push({ invariant: 'class', what, token })
    }
  }
  return { counts, wrong, lost, starved }
}

const allowedCodes = (call, touched, { allowed = [], allowedFor }) =>
  touched ? ['OK', ...(allowedFor?.(call) ?? allowed)] : ['OK']

/** Whether a call that did not succeed should have: by its kind, or because its handler ended well before its deadline. */
const isPromised = ({ idempotent, runs, at, timeoutMs }, code, { promised, allowed = [] }) => {
  if (code === 'OK') return false
  // Refused at once, where the row says that it may be, and certainly not run: nothing was promised to it.
  if (code === 'Overloaded' && allowed.includes(code)) return false
  const isDone = ({ end, aborted }) => !aborted && end < at + (timeoutMs - 1000) * 1000
  if (promised === 'replies') return runs.some(isDone)
  // Three lost workers are the limit.
  return promised === 'all' || (promised === 'idempotent' && idempotent && runs.length < 3)
}

/**
 * Seconds from the end of the fault until at least 95 % of the calls made succeed again, and stay so. What is allowed does not count
 * the time in which the machine gave processes no processor. Before the load is over, a success that is not there yet is only late.
 * @param {any} history
 * @param {Expectations} expected
 */
export const recovery = (history, expected) => {
  const { calls, marks } = history
  const { recoverMs = 10_000, firstOkMs = 3000, steady = 0.95 } = expected
  const isWhole = marks.paused !== undefined
  const until = marks.paused ?? history.seenUntil
  const after = [...calls.values()].filter(({ at, act }) => at >= marks.healed && at < until && !act)
  const firstOk = Math.min(
    ...after.filter(({ settles: [settle] }) => settle?.code === 'OK').map(({ settles: [settle] }) => settle.t),
  )
  const buckets = []
  for (const call of after) {
    if (isStarved(history, call, expected)) continue
    const bucket = (buckets[Math.floor((call.at - marks.healed) / bucketUs)] ??= { all: 0, ok: 0 })
    bucket.all++
    const code = call.settles[0]?.code
    // Some are made to fail.
    if (code === 'OK' || expected.isRight?.({ ...call, code }) === true) bucket.ok++
  }
  const lastBad = buckets.findLastIndex(bucket => bucket && bucket.ok < steady * bucket.all)
  const firstOkSeconds = (firstOk - marks.healed) / 1e6
  const seconds = lastBad === buckets.length - 1 ? Infinity : ((lastBad + 1) * bucketUs) / 1e6
  const takenMs = to => ms(to - marks.healed) - stalledMs(history, marks.healed, to)
  const found = []
  const say = what => found.push({ invariant: 'I14', what })
  if (isWhole && after.length === 0) say('no call was made after the fault')
  if (isWhole && firstOk === Infinity) say('no call succeeded after the fault')
  else if (takenMs(Math.min(firstOk, until)) > firstOkMs) {
    const what = firstOk === Infinity ? 'no call has succeeded for' : 'the first success came after'
    say(`${what} ${(takenMs(Math.min(firstOk, until)) / 1000).toFixed(1)} s, without what the machine took`)
  }
  if (seconds === Infinity ? isWhole : takenMs(marks.healed + seconds * 1e6) > recoverMs)
    say(`not back to ${steady * 100} % ${Number.isFinite(seconds) ? `for ${seconds} s` : 'at all'}`)
  return { found, seconds, firstOkSeconds }
}

/** Nobody waits for longer than that after a promotion. */
const longestGapMs = 3000

/**
 * I14: how long each process that lives had no service after a promotion: a caller no call that ended well, a worker none that it started.
 * `outageSeconds`: the longest time without any call that ended well.
 * @param {any} history
 */
export const service = history => {
  const { calls, runs, processes, promotions, marks } = history
  const oks = [...calls.values()].flatMap(({ by, settles: [settle] }) =>
    settle?.code === 'OK' ? [{ by, at: settle.t }] : [],
  )
  const signs = [...oks, ...runs.values()]
  const found = []
  let gapMs
  for (const [place, { at: promotion, but }] of promotions.entries()) {
    const until = promotions[place + 1]?.at ?? marks.paused
    for (const { name, killedAt, exitedAt } of processes.values()) {
      // One that went meanwhile says nothing, nor does one that is cut off from the new master.
      const isGone = Math.min(killedAt ?? Infinity, exitedAt ?? Infinity) < until
      if (isGone || but.includes(name) || !/^(caller|worker)/.test(name)) continue
      const own = signs.filter(({ by, at }) => by === name && at >= promotion && at < until)
      const first = Math.min(until, ...own.map(({ at }) => at))
      const tookMs = ms(first - promotion) - stalledMs(history, promotion, first)
      gapMs = Math.max(gapMs ?? 0, tookMs)
      if (tookMs > longestGapMs)
        found.push({
          invariant: 'I14',
          what: `${name} had no service for ${(tookMs / 1000).toFixed(1)} s after a promotion`,
        })
    }
  }
  const times = oks.map(({ at }) => at).filter(at => at >= marks.fault - 1_000_000 && at < marks.paused)
  const outageMs = promotions.length > 0 ? between(times.sort((a, b) => a - b)) : undefined
  return { found, gapSeconds: seconds(gapMs), outageSeconds: seconds(outageMs) }
}

const seconds = ms => (ms === undefined ? undefined : ms / 1000)

/** What a worker's lease is where nobody says otherwise, and how much of it the machine must have taken for the worker to lose it. */
const leaseMs = 5000
const excusedBeatMs = 2000

/**
 * I16: how soon a worker that died was noticed, and whether one that lived was taken for dead.
 * @param {any} history
 * @param {Expectations} expected
 */
export const detection = (history, expected) => {
  const { detectMs = 6000, falseDeaths = 0, deaths = 'noticed' } = expected
  const { processes, adoptions, leaseLosses, marks } = history
  const found = []
  const times = []
  const nameOf = id => [...processes.values()].find(({ workerIds }) => workerIds.includes(id))
  for (const { name, killedAt, workerIds } of processes.values()) {
    if (killedAt === undefined || workerIds.length === 0) continue
    const adoption = adoptions.find(({ worker }) => worker === workerIds.at(-1))
    const takenMs = to => ms(to - killedAt) - stalledMs(history, killedAt, to)
    const lateMs = adoption ? takenMs(adoption.at) : Infinity
    if (adoption) times.push(lateMs)
    const couldBe = takenMs(marks.end) > detectMs
    if (deaths === 'noticed' && lateMs > detectMs && couldBe) {
      found.push({ invariant: 'I16', what: `the death of ${name} was noticed after ${(lateMs / 1000).toFixed(1)} s` })
    }
  }
  const inHand = [...history.runs.values()].filter(
    ({ by, end }) => end === undefined && processes.get(by).killedAt !== undefined,
  ).length
  const isFalse = ({ worker, at }) => {
    const process = nameOf(worker)
    // Somebody wrote a lease by hand.
    if (!process) return false
    const ends = [process.killedAt, process.exitedAt, process.signals[0]?.at]
    // A beat that could not be sent for that long is no fault of its worker.
    const isStalled = stalledMs(history, at - leaseMs * 1000, at) > excusedBeatMs
    return !ends.some(end => end <= at) && !isStalled
  }
  const wrongly = new Set([...adoptions, ...leaseLosses].filter(isFalse).map(({ worker }) => worker))
  if (wrongly.size > falseDeaths) {
    found.push({ invariant: 'I16', what: `${wrongly.size} living workers were taken for dead` })
  }
  return { found, seconds: times.length ? Math.max(...times) / 1000 : undefined, falseDeaths: wrongly.size, inHand }
}
