// One row of the fault table, from a quiet start to a verdict: warm, inject, heal, recover, drain, check.
import { setTimeout as sleep } from 'node:timers/promises'
import { leftClients, leftHandles, leftKeys, logLines, reconnects } from './calm.mjs'
import * as invariants from './invariants.mjs'
import { nowUs } from './journal.mjs'
import { classes, detection, recovery, service } from './measures.mjs'
import { startSampling } from './sampler.mjs'
import { Stage } from './stage.mjs'
import * as streams from './stream-invariants.mjs'

const drainMs = 12_000
/** What a planted bug leaves behind is not waited for. */
const brokenDrainMs = 2000
const leaveMs = 6000
const quickAfterMs = 4000
/** How often it is looked whether a planted bug was seen. */
const lookEveryMs = 1000

/**
 * @param row see rows/index.mjs
 * @param options `seed`; `quick` for less time after the fault; `dist` for workers with a planted bug, `callerDist` for callers; and `shows` what it breaks, so
 *   that the trial ends when that was seen; `keep` keeps the journals
 */
export const runTrial = async (row, options) => {
  const startedAt = performance.now()
  const stage = new Stage(row, options)
  let keep = true
  try {
    await stage.open()
    const found = await playTrial(stage, row, options)
    const result = judge(stage, row, found, stage.isCutShort ? settledOnly(stage.history()) : undefined)
    keep = options.keep || (result.violations.length > 0 && !options.expectsViolations)
    return { ...result, seconds: Math.round((performance.now() - startedAt) / 1000), folder: stage.folder }
  } catch (error) {
    // The other rows are tried all the same.
    const violations = [{ invariant: 'stage', what: error.message }]
    return { ...untried, id: row.id, title: row.title, violations, folder: stage.folder }
  } finally {
    await stage.close({ keep })
  }
}

const untried = {
  calls: 0,
  classes: {},
  inTime: 0,
  wrong: 0,
  lost: 0,
  duplicates: 0,
  lateStarts: 0,
  wedges: 0,
  recoverySeconds: Number.POSITIVE_INFINITY,
  connectsPerSecond: 0,
  linesPerSecond: 0,
}

const playTrial = async (stage, row, { quick, expectsViolations, shows }) => {
  const { load = {}, warmMs = 2000, faultMs = 4000, afterMs = 6000 } = row
  const mark = what => stage.journal('mark', { what })
  const sampler = startSampling(stage)
  if (!row.redisAway) {
    await stage.load(load)
    await sleep(warmMs)
  }
  mark('fault')
  await row.inject(stage)
  await (row.isStretched ? stage.pass(faultMs) : sleep(faultMs))
  await stage.endLoops()
  await row.heal?.(stage)
  for (const proxy of stage.proxies) proxy.heal()
  mark('healed')
  const leftMs = quick ? Math.min(afterMs, quickAfterMs) : afterMs
  if (shows) {
    stage.isCutShort = await isShown(stage, row, shows, leftMs)
    if (stage.isCutShort) {
      await sampler.stop()
      return stage.found
    }
  } else await stage.pass(leftMs)
  mark('paused')
  await stage.pause()
  const found = await drain(stage, row, sampler, expectsViolations ? brokenDrainMs : drainMs)
  mark('end')
  await sampler.stop()
  return [...found, ...(await dismiss(stage, row)), ...((await row.check?.(stage)) ?? []), ...stage.found]
}

/** Looks again and again, for so long; resolves as soon as one of these invariants was seen to be broken. */
const isShown = async (stage, row, shows, patienceMs) => {
  for (const isOver = stage.timer(patienceMs); !isOver(); ) {
    await sleep(lookEveryMs)
    const { violations } = judge(stage, row, [], settledOnly(stage.history()))
    if (violations.some(({ invariant }) => shows.includes(invariant))) return true
  }
  return false
}

/** Calls that settled a while ago: those under way may still end well, and a worker may not have written yet what it did. */
const settledOnly = history => {
  const before = nowUs() - lookEveryMs * 1000
  const calls = new Map([...history.calls].filter(([, { settles }]) => settles[0]?.t < before))
  return { ...history, calls, seenUntil: before }
}

/** No new calls: all that are open settle, and nothing stays in Redis. */
const drain = async (stage, row, sampler, patienceMs) => {
  const longest = Math.max(row.longestMs ?? 0, row.load?.timeoutMs ?? 2000)
  await Promise.all(stage.callers.map(caller => caller.order('finish', { patienceMs: longest + 2000 })))
  const settledAt = performance.now()
  const isDrained = () => {
    const { at, backlog, held, adopted } = sampler.last()
    // What was seen before the last call was pushed says nothing of what its worker still holds.
    return at > settledAt && backlog === 0 && adopted === 0 && Object.keys(held).length === 0
  }
  const drained = await stage.until(isDrained, patienceMs)
  const left = drained ? [] : [{ invariant: 'I14', what: `not drained: ${JSON.stringify(sampler.last())}` }]
  return [...left, ...(await leftKeys(await stage.masters(), { workersLive: true }))]
}

/** Everybody leaves on purpose: each process must end by itself, and Redis must be as empty as before. */
const dismiss = async (stage, row) => {
  const members = stage.members.filter(({ isGone }) => !isGone)
  for (const member of stage.callers) void member.order('close')
  await Promise.race([Promise.all(stage.callers.map(({ exited }) => exited)), stage.pass(leaveMs)])
  for (const member of stage.workers) stage.signal(member, 'SIGTERM')
  await Promise.race([Promise.all(members.map(({ exited }) => exited)), stage.pass(leaveMs)])
  const found = members
    .filter(({ isGone }) => !isGone)
    .map(({ name }) => ({ invariant: 'I13', what: `${name} did not end by itself` }))
  // Of identities that were lost, not given up.
  const cardsStay = stage.deaths > 0 || row.expect?.falseDeaths > 0
  // Only when they are gone: the server closes a connection a moment after its client.
  const masters = await stage.masters()
  await stage.until(async () => (await leftClients(masters)).length === 0, 3000)
  return [...found, ...(await leftClients(masters)), ...(await leftKeys(masters, { workersLive: false, cardsStay }))]
}

const judge = (stage, row, found, history = stage.history()) => {
  const expected = row.expect ?? {}
  const settled = invariants.settling(history)
  const settles = classes(history, expected)
  const duplicates = invariants.duplicates(history, expected.unheardMs)
  const lateStarts = invariants.lateStarts(history)
  const wedges = invariants.wedges(history)
  const recovered = recovery(history, expected)
  const detected = detection(history, expected)
  const served = service(history)
  const dialled = reconnects(stage.proxies, Math.max(row.callers ?? 2, row.workers ?? 2), expected)
  const logged = logLines(stage.folder, expected)
  const notDrained = found.filter(({ what }) => what.startsWith('not drained'))
  const violations = [
    ...settled.found,
    ...invariants.truth(history),
    ...invariants.ghosts(history),
    ...duplicates,
    ...invariants.fencing(history),
    ...invariants.replies(history),
    ...streams.chunks(history),
    ...streams.pressure(history),
    ...streams.unread(history, expected),
    ...lateStarts,
    ...invariants.slots(history),
    ...wedges,
    ...settles.wrong,
    ...settles.lost,
    ...(expected.anyRecovery ? [] : recovered.found),
    ...detected.found,
    ...served.found,
    ...dialled.found,
    ...logged.found,
    ...leftHandles(history),
    ...found,
  ]
  const calls = history.calls.size
  const late = settled.found.filter(({ token }) => token !== undefined).length
  return {
    id: row.id,
    title: row.title,
    calls,
    classes: settles.counts,
    inTime: calls - late,
    excused: settled.excused,
    starved: settles.starved,
    wrong: settles.wrong.length,
    lost: settles.lost.length,
    duplicates: duplicates.length,
    lateStarts: lateStarts.length,
    wedges: wedges.length + notDrained.length,
    recoverySeconds: recovered.seconds,
    detectionSeconds: detected.seconds,
    inHand: detected.inHand,
    gapSeconds: served.gapSeconds,
    outageSeconds: served.outageSeconds,
    secondStarts: invariants.secondStarts(history, expected.unheardMs),
    kills: [...history.processes.values()].filter(({ killedAt }) => killedAt !== undefined).length,
    connectsPerSecond: dialled.most,
    linesPerSecond: logged.most,
    report: row.report?.(history),
    violations,
  }
}
