// Schedules of both queues that have a job enqueued each second, and what becomes of them: what was missed, paused, and goes on.
import { setTimeout as sleep } from 'node:timers/promises'

/** A time that is later than a minute was missed. The half second makes it one that no entry has but for this. */
const awayMs = 120_500
const everySecond = '* * * * * *'
const keepResultMs = 3_600_000

const entries = ['q', 'r'].flatMap(queue => [
  { queue, name: 'once', missed: 'once', timezone: undefined },
  { queue, name: 'skip', missed: 'skip', timezone: 'Europe/Berlin' },
])

/**
 * Each entry has a task of its own, and its jobs are tracked: no handler is told when it was due, but its job's record says that for an hour. None of them fails, because a record
 * of one that is tried again tells when that is.
 * Without `isOn` there is none.
 * `steps` of an entry are what was done to it: what is between them the jobs must explain.
 */
export const makeSchedules = async (hub, ground, isOn = true) => {
  const all = (isOn ? entries : []).map(entry => ({
    ...entry,
    id: `${entry.queue}-${entry.name}`,
    steps: [],
    away: [],
  }))
  const found = []
  const underWay = new Set()
  const forEach = act => Promise.all(all.map(act))
  const timesOf = ({ queue }) => `pshub:{${queue}}:ticks`

  const need = (isSo, what, { id }) => {
    if (!isSo) found.push(`${what}: ${id}`)
  }

  /** As if nobody had been there for two minutes; resolves when somebody took that time. */
  const miss = async entry => {
    const { name, away, missed } = entry
    const dueMs = Math.floor(Date.now() / 1000) * 1000 - awayMs
    const step = { kind: 'missed', dueMs, setAt: Date.now(), from: Date.now(), until: undefined }
    await ground.redis.zadd(timesOf(entry), 'XX', dueMs, name)
    // Where all its workers die it may take a while.
    for (let tries = 0; tries < 1200 && step.until === undefined; tries++) {
      const lookedAt = Date.now()
      const isTaken = Number(await ground.redis.zscore(timesOf(entry), name)) !== dueMs
      if (isTaken) step.until = Date.now()
      else step.from = lookedAt
      await sleep(50)
    }
    need(step.until !== undefined, 'nobody took a time for a minute', entry)
    away.push(step)
    // What was passed over has left nothing else.
    if (missed === 'skip') entry.steps.push(step)
  }

  await forEach(async entry => {
    const { queue, name, missed, timezone, id } = entry
    const times = { cron: everySecond, missed, timezone }
    const { nextMs } = await hub.schedule(name, times, `${id}:1.0`, { token: id, ms: 150 }, { queue, keepResultMs })
    entry.firstMs = nextMs
  })

  return {
    all,
    found,
    miss() {
      if (underWay.size > 0) return
      for (const entry of all) {
        const done = miss(entry).finally(() => underWay.delete(done))
        underWay.add(done)
      }
    },
    /** Resolves when all that was missed has been seen. */
    async settled() {
      await Promise.all(underWay)
    },
    pause: () =>
      forEach(async entry => {
        need(await hub.schedules(entry.queue).pause(entry.name), 'gone', entry)
        entry.pausedAt = Date.now()
      }),
    resume: () =>
      forEach(async entry => {
        const from = Date.now()
        need(await hub.schedules(entry.queue).resume(entry.name), 'gone', entry)
        entry.steps.push({ kind: 'paused', from: entry.pausedAt, until: Date.now(), before: from })
        entry.resumedAt = Date.now()
      }),
    /** Looks that they are still what they were. */
    async remove() {
      await forEach(async entry => {
        const { queue, name, missed, timezone, id } = entry
        const listed = (await hub.schedules(queue).list()).find(each => each.name === name)
        const isSame =
          listed?.cron === everySecond &&
          listed.missed === missed &&
          listed.timezone === timezone &&
          listed.task === `${id}:1.0` &&
          listed.args.token === id &&
          listed.nextMs !== undefined &&
          listed.pausedMs === undefined
        need(isSame, `not as it was written, but ${JSON.stringify(listed)}`, entry)
        need(await hub.schedules(queue).remove(name), 'gone', entry)
        entry.removedAt = Date.now()
      })
    },
  }
}
