// What must hold of jobs once everything has come to rest: nothing lost, nothing settled twice, nothing left behind.
import { readFileSync } from 'node:fs'
import { checkKeys } from './check-keys.mjs'
import { checkMerged } from './check-merged.mjs'
import { checkSchedules } from './check-schedules.mjs'

/** The last line of a process may be cut off where that was killed. */
const readJournal = journal =>
  readFileSync(journal, 'utf8')
    .trim()
    .split('\n')
    .flatMap(line => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })

/** Until Redis knows that a run is over, on a busy machine. */
const settleMs = 2000

/** What ended well does not run again, unless something was done to its process before Redis knew of that. */
const checkAgain = (events, { hits }, fail) => {
  const ended = new Map()
  const startedBy = new Map()
  for (const { e, id, run, at } of events) {
    if (e === 'start') startedBy.set(run, at)
    if (e === 'end') ended.set(id, { member: run.split('/')[0], from: startedBy.get(run), until: at + settleMs })
    const before = e === 'start' ? ended.get(id) : undefined
    if (before === undefined) continue
    const wasHit = hits.some(
      hit => hit.member === before.member && hit.until >= before.from && hit.from <= before.until,
    )
    if (!wasHit) fail('ran again though it had ended', id, `in ${before.member}, and then ${run}`)
  }
}

/** @param given payloads of merged jobs @param schedules as makeSchedules() made them @param mayRepeat handlers hold up processes for longer than a lease @param mayOverlap the same, or others do */
export const check = async ({ stage, acknowledged, given, schedules, mayRepeat, mayOverlap }) => {
  const { redis } = stage.ground
  // Then no settled job may come back.
  const isStrict = stage.outages.length === 0
  const events = readJournal(stage.journal)
  const ended = new Map()
  const before = new Map()
  const dead = new Set()
  /** Dead ones that were tried again: they came back behind others. */
  const revived = new Set()
  for (const { e, id, run, before: earlier, at } of events) {
    if (e === 'deleted') dead.add(id)
    if (e === 'revived') revived.add(id)
    if (e === 'end') ended.set(id, Math.min(ended.get(id) ?? Number.POSITIVE_INFINITY, at))
    if (e === 'start' && earlier !== undefined) before.set(id, (before.get(id) ?? new Set()).add(earlier))
    void run
  }
  const left = await stage.keys('pshub:{*')
  const deadPayloads = new Set()
  for (const key of left.filter(each => each.endsWith(':dead')))
    for (const text of await redis.zrange(key, 0, -1)) {
      dead.add(/"id":"([\w-]+)"/.exec(text)[1])
      const { job, args } = JSON.parse(text)
      // Those of merged jobs are in the queue itself, over however many shards it is spread.
      if (job?.merged) deadPayloads.add(`${/\{(.*)\}/.exec(key)[1]} ${job.key} ${args.n}`)
    }
  const hasEnded = id => ended.has(id) || dead.has(id)
  const found = []
  const fail = (what, ...ids) => found.push(`${what}: ${ids.join(', ')}`)

  for (const { id, isDeadly } of acknowledged.jobs) {
    if (!hasEnded(id)) fail('lost job', id)
    else if (isDeadly && !dead.has(id)) fail('alive, though it cannot be done', id)
  }
  for (const { id, steps } of acknowledged.chains) {
    const died = steps.findIndex(step => dead.has(step))
    const due = died === -1 ? steps : steps.slice(0, died + 1)
    for (const step of due) if (!hasEnded(step)) fail('lost step', id, step)
    for (const step of steps.slice(due.length)) if (ended.has(step)) fail('step behind a dead one', id, step)
    for (const step of steps) if (isStrict && (before.get(step)?.size ?? 0) > 1) fail('settled twice', id, step)
  }
  for (const { id, queue, ids, then } of acknowledged.batches) {
    for (const member of ids) if (!hasEnded(member)) fail('lost job of a batch', id, member)
    if (!hasEnded(then)) fail('batch without an end', id, then)
    const last = Math.max(...ids.map(member => ended.get(member) ?? 0))
    const started = Math.min(...events.filter(event => event.e === 'start' && event.id === then).map(({ at }) => at))
    if (started < last) fail('batch that ended too early', id)
    const [done = 0, gone = 0] = (await redis.hmget(`pshub:{${queue}}:batch:${id}`, 'done', 'dead')).map(count =>
      Number(count ?? 0),
    )
    if (done + gone !== ids.length) fail(`batch that counted ${done + gone} of ${ids.length}`, id)
  }
  if (isStrict && !mayOverlap) checkAgain(events, stage, fail)
  const isBack = id => dead.has(id) || revived.has(id)
  const ofKeys = { events, acknowledged: acknowledged.keyed, isBack, hasEnded, isStrict, mayOverlap, fail }
  const keys = checkKeys(ofKeys)
  const ofMerged = {
    events,
    given,
    acknowledged: acknowledged.merged,
    dead: deadPayloads,
    left,
    stage,
    mayOverlap,
    fail,
  }
  const merged = { ...checkMerged(ofMerged), dead: deadPayloads.size }
  const times = await checkSchedules({ stage, events, hasEnded, schedules, mayRepeat, fail })
  let marks = 0
  for (const key of left) {
    if (
      /:(jobs|jobs:high|jobs:low|scheduled|retries|held:.*|ended:.*|cron|ticks|line:.*|keys:.*|running:.*|later|keyed|lined)$/.test(
        key,
      )
    )
      fail('left behind', key)
    if (!/:came:/.test(key)) continue
    // Of a worker that died between the two last steps of what it did in another queue: it goes by itself.
    if ((await redis.pttl(key)) === -1) fail('left for ever', key)
    marks++
  }
  const runs = events.filter(({ e }) => e === 'start').length
  const jobs =
    acknowledged.jobs.length +
    acknowledged.keyed.length +
    acknowledged.chains.length * 3 +
    acknowledged.batches.length * 6
  const deadly = acknowledged.jobs.filter(({ isDeadly }) => isDeadly).length
  return { found, runs, jobs, dead: dead.size - deadPayloads.size, deadly, marks, times, keys, merged }
}
