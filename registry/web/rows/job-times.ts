import type { JobDetail } from '../../job-contract.ts'

/** One part of a job's life, as its page draws it. */
export interface Stretch {
  /** `wait`: nobody had it. `run`: a worker had it. `both`: which of it was which is not told. */
  kind: 'wait' | 'run' | 'both'
  name: string
  /** How it ended, where it did not merely end. */
  end: string
  tone: 'good' | 'bad' | 'warn' | undefined
  /** Redis milliseconds. */
  fromMs: number
  toMs: number
  /** It goes on now. */
  isOpen: boolean
  /** It has not come to an end: until then it lasts at the least, or that is when it is due. */
  isToCome: boolean
}

type Times = Pick<
  JobDetail,
  'state' | 'tries' | 'errors' | 'enqueuedMs' | 'dueMs' | 'startedMs' | 'endedMs' | 'atMs' | 'isTracked'
>

const settledNames: Partial<Record<JobDetail['state'], string>> = {
  done: 'done',
  dead: 'dead',
  expired: 'expired',
  cancelled: 'cancelled',
}

/**
 * What a job's record and its failures tell of its times, from first to last: waits for its time, for a slot and for the next try, and
 * each try. What nobody wrote down is left out, or is one part where it cannot be divided.
 */
export const stretchesOf = (job: Times, nowMs: number): Stretch[] => {
  const life = new Life()
  let since = job.enqueuedMs
  const failures = job.errors.filter(({ at }) => at > 0)
  const earlier = job.tries - failures.length
  for (const [place, { at, started, code }] of failures.entries()) {
    const isLast = place === failures.length - 1
    // Those before the first one are of the time before it was dead, and tried again.
    const number = earlier + place + 1
    const isFirst = place === 0
    const run = {
      name: number > 0 ? `try ${number}` : 'an earlier try',
      end: `failed: ${code}`,
      tone: 'bad',
    } as const
    const began = started ?? (isLast && hasOneStart(job) ? job.startedMs : undefined)
    const before = isFirst && earlier > 0 ? `the first ${earlier === 1 ? 'try' : `${earlier} tries`}` : undefined
    if (before !== undefined && since !== undefined) {
      life.add('both', since, began ?? at, {
        name: before,
        end: `${earlier === 1 ? 'its' : 'their'} times are not kept`,
      })
      since = began ?? at
    }
    if (began !== undefined && began <= at) {
      const behind = isFirst ? 'nothing' : number === 1 ? 'death' : 'try'
      if (since !== undefined && before === undefined)
        waits(life, job, since, began, behind, isLast && job.state === 'dead')
      life.add('run', began, at, run)
    } else if (since !== undefined && before === undefined) life.add('both', since, at, run)
    since = at
  }
  const behind = failures.length === 0 ? 'nothing' : job.tries === 0 ? 'death' : 'try'
  last(life, job, since, behind, nowMs)
  return life.stretches
}

/** What a wait came behind. */
type Behind = 'nothing' | 'try' | 'death'

/** What came behind the last failure, or all of it where there was none. */
const last = (life: Life, job: Times, since: number | undefined, behind: Behind, nowMs: number): void => {
  const { state, startedMs, endedMs, dueMs, tries } = job
  if (state === 'dead') return
  if (state === 'scheduled' || state === 'retrying') {
    if (since === undefined || dueMs === undefined) return
    const name = state === 'retrying' ? waitNames.again : waitNames.time
    life.add('wait', since, Math.max(dueMs, since), { name, isOpen: true, isToCome: dueMs > nowMs })
    return
  }
  // One that waits may have been taken before, by a worker that died or left.
  const isTaken = state !== 'waiting' && startedMs !== undefined && (since === undefined || startedMs >= since)
  const began = isTaken ? startedMs : undefined
  const isOver = endedMs !== undefined
  const until = endedMs ?? nowMs
  const end = { end: isOver ? (settledNames[state] ?? state) : '', tone: toneOf(state), isOpen: !isOver }
  if (began === undefined) {
    if (since !== undefined) waits(life, job, since, until, behind, true, end)
    return
  }
  if (since !== undefined) waits(life, job, since, began, behind, true)
  life.add('run', began, until, { name: `try ${tries + 1}`, ...end })
}

const waitNames = {
  time: 'waiting for its time',
  again: 'waiting for its next try',
  slot: 'waiting for a slot',
  // Until when it was to wait is known of its last wait alone.
  taken: 'waiting to be taken',
  either: 'waiting for its next try and a slot',
  death: 'dead, and waiting for a slot',
}

/** A wait that ended with a try, or goes on: for its time first, where that is known, and then for a slot. */
const waits = (
  life: Life,
  { dueMs }: Times,
  since: number,
  until: number,
  behind: Behind,
  isLastWait: boolean,
  end: Partial<Stretch> = {},
): void => {
  const dueIn = isLastWait && behind !== 'death' && dueMs !== undefined && dueMs > since ? dueMs : undefined
  const forTime = behind === 'nothing' ? waitNames.time : waitNames.again
  if (dueIn === undefined) {
    const first = isLastWait ? waitNames.slot : waitNames.taken
    const name = { nothing: first, try: waitNames.either, death: waitNames.death }[behind]
    life.add('wait', since, until, { name, ...end })
  } else if (dueIn > until) life.add('wait', since, until, { name: forTime, ...end })
  else {
    life.add('wait', since, dueIn, { name: forTime })
    life.add('wait', dueIn, until, { name: waitNames.slot, ...end })
  }
}

/** Its record says when the last try began: that of one that ended, and waits for no other. */
const hasOneStart = ({ state, startedMs }: Times): boolean =>
  startedMs !== undefined && (state === 'dead' || state === 'retrying')

const toneOf = (state: JobDetail['state']): Stretch['tone'] => {
  if (state === 'done') return 'good'
  return state === 'expired' || state === 'cancelled' ? 'warn' : undefined
}

class Life {
  readonly stretches: Stretch[] = []

  add(kind: Stretch['kind'], fromMs: number, toMs: number, more: Partial<Stretch> & { name: string }): void {
    // Clocks of two nodes may differ by some milliseconds.
    const until = Math.max(fromMs, toMs)
    this.stretches.push({
      kind,
      fromMs,
      toMs: until,
      end: '',
      tone: undefined,
      isOpen: false,
      isToCome: false,
      ...more,
    })
  }
}
