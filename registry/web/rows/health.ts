import type { QueueRow, Summary } from '../../contract.ts'
import { inAddress } from '../address/in-address.ts'
import { bytes, percent, plural, span } from '../text/figures.ts'
import { remedyOf } from '../text/remedies.ts'
import { mostOf, notRunShare, pausedSinceMs, rejectedText, troublesOf } from './queue-state.ts'

export interface Concern {
  name: string
  tone: 'good' | 'warn' | 'bad'
  /** In words, so that it does not depend on its colour. */
  state: string
  text: string
  /** Page that shows what is meant, with its query; below the base path. */
  place: string
}

/** Calls that fail now and then are no cause for alarm; one in twenty is. */
const alarmingErrors = 0.05

/** Health in one glance: everything that may need somebody, the worst first. */
export const healthOf = (summary: Summary, queues: Iterable<QueueRow>): Concern[] => {
  const rows = [...queues]
  const concerns = [
    unserved(summary),
    conflicts(summary),
    lost(summary),
    backlog(summary, rows),
    paused(summary, rows),
    errors(summary),
  ]
  concerns.push(overdue(summary, rows), rejected(summary))
  if (summary.memory) concerns.push(memory(summary.memory))
  if (summary.dead > 0) concerns.push(dead(summary, rows))
  if (summary.doubled > 0) concerns.push(doubled(summary))
  if (summary.unreadable.length > 0) concerns.push(unreadable(summary))
  const order = { bad: 0, warn: 1, good: 2 }
  return concerns.sort((a, b) => order[a.tone] - order[b.tone])
}

export const headlineOf = (concerns: readonly Concern[]): string => {
  const bad = concerns.filter(({ tone }) => tone === 'bad').length
  const warn = concerns.filter(({ tone }) => tone === 'warn').length
  if (bad + warn === 0) return 'All is well'
  const parts = [...(bad > 0 ? [plural(bad, 'problem')] : []), ...(warn > 0 ? [`${warn} to check`] : [])]
  return parts.join(', ')
}

const good = (name: string, text: string, place: string): Concern => ({
  name,
  tone: 'good',
  state: 'Fine',
  text,
  place,
})

const unserved = ({ unserved: count, tasks }: Summary): Concern =>
  count === 0
    ? good(
        'Tasks without workers',
        tasks === 0 ? 'No task is known yet.' : 'Every task that is not retired has a live worker.',
        'tasks',
      )
    : {
        name: 'Tasks without workers',
        tone: 'bad',
        state: 'Problem',
        text: `${plural(count, 'task')} without a live worker: calls fail.`,
        place: 'tasks?state=unserved',
      }

const conflicts = ({ conflicts: count }: Summary): Concern =>
  count === 0
    ? good('Schemas', 'Workers agree on every schema.', 'tasks')
    : {
        name: 'Schemas',
        tone: 'warn',
        state: 'Check',
        text: `${plural(count, 'task')} declared with different schemas.`,
        place: 'tasks?state=conflict',
      }

const lost = ({ lost: count, workers, draining }: Summary): Concern => {
  const drains = draining > 0 ? ` ${plural(draining, 'worker')} draining.` : ''
  if (count > 0)
    return {
      name: 'Workers',
      tone: 'warn',
      state: 'Check',
      text: `${plural(count, 'worker')} lost: they crashed or are cut off.${drains}`,
      place: 'workers?state=lost',
    }
  if (workers === 0)
    return { name: 'Workers', tone: 'warn', state: 'Check', text: 'No worker is live.', place: 'workers' }
  return good('Workers', `${plural(workers, 'worker')} live, none lost.${drains}`, 'workers')
}

const backlog = (summary: Summary, queues: QueueRow[]): Concern => {
  const troubled = queues
    .flatMap(row => troublesOf(row).map(trouble => ({ row, ...trouble })))
    .filter(({ kind }) => kind !== 'paused' && kind !== 'rejected')
    .sort((a, b) => (b.row.oldestMs ?? 0) - (a.row.oldestMs ?? 0))
  const [first] = troubled
  if (!first)
    return good(
      'Backlog',
      summary.backlog === 0 ? 'Nothing waits.' : `${plural(summary.backlog, 'request')} waiting, none for long.`,
      'queues',
    )
  const others = new Set(troubled.map(({ row }) => row.queue)).size - 1
  const more = others > 0 ? ` ${plural(others, 'further queue')} to check.` : ''
  return {
    name: 'Backlog',
    tone: first.tone,
    state: stateOf(first.tone),
    text: `${first.row.queue.slice(0, 60)}: ${first.text} ${first.remedy}${more}`,
    place: `queues/${inAddress(first.row.queue)}`,
  }
}

const stateOf = (tone: 'warn' | 'bad'): string => (tone === 'bad' ? 'Problem' : 'Check')

/** Calls that were not run. What handlers reject is no concern. */
const rejected = (summary: Summary): Concern => {
  const { notRun } = summary.load
  const most = mostOf(notRun)
  if (most === undefined) return good('Rejected calls', 'No call was rejected in the last minute.', 'tasks')
  const share = notRunShare(summary)
  const tone = share >= alarmingErrors ? 'bad' : 'warn'
  return {
    name: 'Rejected calls',
    tone,
    state: stateOf(tone),
    text: `${rejectedText(summary, most.slice(0, 40))} ${remedyOf(most)}`,
    place: 'tasks?sort=-rejected&state=rejected',
  }
}

const memory = ({ usedBytes, maxBytes }: NonNullable<Summary['memory']>): Concern => {
  const name = 'Memory of Redis'
  const text = `${bytes(usedBytes)} of ${bytes(maxBytes)} in use`
  if (usedBytes >= maxBytes * 0.995)
    return {
      name,
      tone: 'bad',
      state: 'Problem',
      text: `Redis is full and rejects writes: ${text}. Raise its maxmemory, or delete data such as dead jobs.`,
      place: 'jobs?state=dead',
    }
  if (usedBytes < maxBytes * 0.9) return good(name, `${text}.`, 'jobs')
  return {
    name,
    tone: 'warn',
    state: 'Check',
    text: `Nearly full: ${text}. When it is full, Redis rejects writes.`,
    place: 'jobs',
  }
}

const paused = ({ paused: count }: Summary, queues: QueueRow[]): Concern => {
  if (count === 0) return good('Pauses', 'No queue is paused.', 'queues')
  const rows = queues.filter(row => pausedSinceMs(row) !== undefined)
  const waiting = rows.reduce((sum, { backlog, jobs }) => sum + backlog + jobs, 0)
  const which = rows.length === 1 ? `Queue ${rows[0]!.queue.slice(0, 60)} is` : `${plural(count, 'queue')} are`
  return {
    name: 'Pauses',
    tone: 'warn',
    state: 'Check',
    text: `${which} paused with ${plural(waiting, 'request')} waiting: its workers claim nothing until you resume it.`,
    place: rows.length === 1 ? `queues/${inAddress(rows[0]!.queue)}` : 'queues?state=paused',
  }
}

const errors = ({ load }: Summary): Concern => {
  if (load.errorRate === 0) return good('Errors', 'No call failed in the last minute.', 'tasks')
  const most = `, most of them ${mostOf(load.failed)?.slice(0, 40)}`
  return {
    name: 'Errors',
    tone: load.errorRate >= alarmingErrors ? 'bad' : 'warn',
    state: load.errorRate >= alarmingErrors ? 'Problem' : 'Check',
    text: `${percent(load.errorRate)} of the calls of the last minute failed${most}.`,
    place: 'tasks?sort=-errors&state=failing',
  }
}

const doubled = ({ doubled: count }: Summary): Concern => ({
  name: 'Queues of tasks',
  tone: 'warn',
  state: 'Check',
  text: `${plural(count, 'task')} served in more than one queue.`,
  place: 'tasks?state=doubled',
})

const unreadable = ({ unreadable: records }: Summary): Concern => {
  const { key, field, reason } = records[0]!
  const where = (field === undefined ? key : `${field} of ${key}`).slice(0, 120)
  return {
    name: 'Registry',
    tone: 'warn',
    state: 'Check',
    text: `${plural(records.length, 'record')} in Redis cannot be read and is ignored. ${where}: ${reason}.`,
    place: '',
  }
}

/** A job that is due, and waits for longer than this, waits for something that nobody does. */
const overdueMs = 5 * 60_000
/** So many more within 15 minutes are no single mishaps any more. */
const growthOfDead = 10
/** As many as a queue keeps: further ones drive out the oldest. */
const mostDead = 10_000

const namesOf = (rows: readonly QueueRow[]): string =>
  rows.length === 1 ? rows[0]!.queue.slice(0, 60) : plural(rows.length, 'queue')

const placeOf = (rows: readonly QueueRow[], state: string): string => {
  const queue = rows.length === 1 ? `queue=${inAddress(rows[0]!.queue)}&` : ''
  return `jobs?${queue}state=${state}`
}

const overdue = (summary: Summary, queues: QueueRow[]): Concern => {
  const late = queues.filter(row => (row.oldestJobMs ?? 0) > overdueMs && pausedSinceMs(row) === undefined)
  if (late.length === 0) {
    const text =
      summary.jobs === 0 ? 'No due job is waiting.' : `${plural(summary.jobs, 'job')} waiting, none for long.`
    return good('Jobs', text, 'jobs')
  }
  const oldest = Math.max(...late.map(({ oldestJobMs = 0 }) => oldestJobMs))
  return {
    name: 'Jobs',
    tone: 'bad',
    state: 'Problem',
    text: `Overdue in ${namesOf(late)}: the oldest due job has waited ${span(oldest)}.`,
    place: placeOf(late, 'waiting'),
  }
}

const dead = ({ dead: count }: Summary, queues: QueueRow[]): Concern => {
  const grown = (row: QueueRow) => row.dead - (row.deadBefore ?? row.dead)
  const growing = queues.filter(row => grown(row) >= growthOfDead || row.dead >= mostDead)
  if (growing.length === 0)
    return {
      name: 'Dead jobs',
      tone: 'warn',
      state: 'Check',
      text: `${plural(count, 'dead job')}.`,
      place: 'jobs?state=dead',
    }
  const more = growing.reduce((sum, row) => sum + Math.max(0, grown(row)), 0)
  const isFull = growing.some(row => row.dead >= mostDead)
  return {
    name: 'Dead jobs',
    tone: 'bad',
    state: 'Problem',
    text: isFull
      ? `The limit is reached in ${namesOf(growing)}: new dead jobs replace the oldest.`
      : `Growing in ${namesOf(growing)}: ${plural(more, 'new dead job')} in the last 15 minutes.`,
    place: placeOf(growing, 'dead'),
  }
}
