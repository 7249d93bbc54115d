// What must hold of schedules: each of their times came once, and none was lost.
//
// A time is taken in one step, which enqueues its job and sets the next time behind now. So whatever is killed, and also when Redis
// forgets its last second (then it forgets the time, its job and that it was taken together), this holds of the jobs that Redis remembers:
//  - no time has two jobs, and each job ends: under that id, however often it is run;
//  - one time follows the other without a gap, but for those that passed while the earlier one came late. It stands for all of them: 'once'
//    and 'skip' do not differ as long as a time is less than a minute late;
//  - of times that are two minutes late 'once' makes up with one job, and 'skip' with none; both go on with the next time behind that;
//  - none comes while its entry is paused.
// None waits while Redis and a worker of its queue are there that nothing is done to, but for the turn of one that died. At the end, when
// nothing is done to anybody any more, each second has its job, less than a lease late.
// Where Redis was not killed each job runs once, but for runs of processes that were killed, stopped or told to stop; and none runs that
// Redis does not know. Where it was killed such a job began just before: its time comes again, with another one.

/** Clocks of workers are as far from Redis' one. */
const clockMs = 100
/** Between looking for what is due and taking it. */
const planMs = 5000
/** The turn of a worker that died, a beat of another one, and what a busy machine adds. */
const turnMs = 5000
const leaseMs = 2000
/** Until Redis knows that a run is over. */
const settleMs = 1000
/** It is told to forget no more than a second; a busy disk makes that two. */
const forgottenMs = 3000

const secondAfter = ms => Math.floor(ms / 1000) * 1000 + 1000
const shown = ms => (ms === undefined ? 'never' : new Date(ms).toISOString().slice(11, 23))

/** Jobs by the task of their entry, in the order in which they came. */
const jobsByTask = async stage => {
  const { redis } = stage.ground
  const byTask = new Map()
  for (const queue of ['q', 'r']) {
    const keys = await stage.keys(`pshub:{${queue}}:job:*`)
    const pipeline = redis.pipeline()
    for (const key of keys) pipeline.hmget(key, 'task', 'due', 'enqueued')
    for (const [at, [, [task, due, enqueued]]] of (await pipeline.exec()).entries()) {
      const id = keys[at].slice(keys[at].lastIndexOf(':') + 1)
      const job = { kind: 'job', id, dueMs: Number(due), from: Number(enqueued), until: Number(enqueued) }
      byTask.set(task, [...(byTask.get(task) ?? []), job])
    }
  }
  for (const jobs of byTask.values()) jobs.sort((a, b) => a.from - b.from)
  return byTask
}

/** For how long somebody of a queue was there in one piece between two moments. */
const attendanceOf = ({ outages, presences }) => {
  let pieces = presences()
  // Without those that are nothing: each outage would make two of each.
  for (const outage of outages)
    pieces = pieces
      .flatMap(piece => [
        { ...piece, until: Math.min(piece.until, outage.from) },
        { ...piece, from: Math.max(piece.from, outage.until) },
      ])
      .filter(({ from, until }) => until > from)
  return (queue, from, until) => {
    const own = pieces.filter(piece => piece.queue === queue)
    return Math.max(0, ...own.map(piece => Math.min(piece.until, until) - Math.max(piece.from, from)))
  }
}

/** One time after the other: each is the first one behind the moment at which the one before it came, or behind what was done to it. */
const checkTimes = (entry, jobs, attendance, fail) => {
  const { id, queue, firstMs, away, missed, steps, pausedAt, resumedAt, removedAt } = entry
  const due = new Map()
  for (const job of jobs) due.set(job.dueMs, [...(due.get(job.dueMs) ?? []), job.id])
  for (const [dueMs, ids] of due) if (ids.length > 1) fail('two jobs for one time', id, shown(dueMs), ...ids)
  for (const { dueMs, setAt, from } of away) {
    if (attendance(queue, setAt, from) > turnMs) fail('not taken, though somebody was there', id, shown(dueMs))
    if (missed === 'once' && !due.has(dueMs)) fail('what was missed is not made up for', id, shown(dueMs))
    if (missed === 'skip' && due.has(dueMs)) fail('what was missed is not passed over', id, shown(dueMs))
  }
  let latest = 0
  let before = { dueMs: firstMs - 1000, until: firstMs - 1000 }
  for (const step of [...jobs, ...steps].sort((a, b) => a.from - b.from)) {
    const { kind, dueMs, from } = step
    if (kind === 'job' && !away.some(each => each.dueMs === dueMs)) {
      const next = secondAfter(Math.max(before.until + clockMs, before.dueMs ?? 0))
      if (dueMs % 1000 !== 0) fail('no time of its pattern', id, shown(dueMs))
      if (dueMs > next) fail('lost times', id, `from ${shown(next)} to ${shown(dueMs)}`)
      if (dueMs < before.until - planMs) fail('made up for once more', id, shown(dueMs))
      if (attendance(queue, dueMs, from) > turnMs)
        fail('too late, though somebody was there', id, shown(dueMs), `${from - dueMs} ms`)
      if (dueMs > resumedAt && from - dueMs > leaseMs) fail('late, though nothing was in its way', id, shown(dueMs))
      latest = Math.max(latest, from - dueMs)
    }
    if (kind === 'job' && from > pausedAt + clockMs && from < steps.at(-1).before - clockMs)
      fail('came though paused', id, shown(dueMs))
    before = step
  }
  if (secondAfter(Math.max(before.until + clockMs, before.dueMs ?? 0)) < removedAt - leaseMs)
    fail('lost at the end', id, `from ${shown(before.dueMs)} to ${shown(removedAt)}`)
  return latest
}

/** Runs by job, in the order in which they began. */
const runsOf = events => {
  const byJob = new Map()
  const byRun = new Map()
  for (const { e, id, token, run, at } of events) {
    if (e === 'end') {
      const own = byRun.get(run)
      if (own) own.endedAt = at
    }
    if (e !== 'start') continue
    const own = { token, at, member: run.split('/')[0], endedAt: undefined }
    byRun.set(run, own)
    byJob.set(id, [...(byJob.get(id) ?? []), own])
  }
  return byJob
}

/** @param mayRepeat whether workers that nothing was done to may lose their lease */
const checkRuns = ({ entry, jobs, runs, stage, mayRepeat, fail }) => {
  const { id: token } = entry
  const known = new Set(jobs.map(({ id }) => id))
  /** Whether something was done to its process before it was known to be over. */
  const wasHit = ({ member, at, endedAt = Number.POSITIVE_INFINITY }) =>
    stage.hits.some(hit => hit.member === member && hit.until >= at && hit.from <= endedAt + settleMs)
  let forgotten = 0
  for (const [id, ofJob] of runs) {
    if (ofJob[0].token !== token) continue
    const isForgotten = !known.has(id)
    if (isForgotten) forgotten++
    const began = ofJob[0].at
    if (isForgotten && !stage.outages.some(({ from }) => Math.abs(from - began) < forgottenMs))
      fail('ran, and Redis knows no such job', token, id)
    const mayAgain = stage.outages.length > 0 || mayRepeat || ofJob.slice(0, -1).every(wasHit)
    if (!mayAgain) fail(`ran ${ofJob.length} times`, token, id)
  }
  return forgotten
}

/** @param schedules as they were made @param hasEnded whether a job was done or given up */
export const checkSchedules = async ({ stage, events, hasEnded, schedules, mayRepeat, fail }) => {
  for (const what of schedules.found) fail('schedule', what)
  const runs = runsOf(events)
  // One whose handlers hold it up is not there.
  const attendance = mayRepeat ? () => 0 : attendanceOf(stage)
  const byTask = await jobsByTask(stage)
  const counts = { times: 0, madeUp: 0, passedOver: 0, forgotten: 0, latestMs: 0 }
  for (const entry of schedules.all) {
    const jobs = byTask.get(`${entry.id}:1.0`) ?? []
    counts.latestMs = Math.max(counts.latestMs, checkTimes(entry, jobs, attendance, fail))
    counts.forgotten += checkRuns({ entry, jobs, runs, stage, mayRepeat, fail })
    for (const { id, dueMs } of jobs) if (!hasEnded(id)) fail('time whose job never ended', entry.id, shown(dueMs), id)
    counts.times += jobs.length
    counts[entry.missed === 'once' ? 'madeUp' : 'passedOver'] += entry.away.length
  }
  return counts
}
