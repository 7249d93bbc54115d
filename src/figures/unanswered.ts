import { type ErrorCode, isErrorCode } from '../wire/errors.ts'
import { isCount, isMoment, isObject, maxUnansweredLength, objectOf, textOf } from '../wire/foreign.ts'
import { isId, isQueueName } from '../wire/keys.ts'

/** Calls of one task that ended with one code in their hub, without a word of a worker. */
export interface UnansweredCalls {
  /** Code of section 7. */
  code: ErrorCode
  /** In the last 50 to 60 s before `seen`. */
  lastMinute: number
  /** Since the hub's start. */
  count: number
  /** When the latest ended, Redis milliseconds. */
  atMs: number
  /** Its message, cut to 300 characters. */
  message: string
  /** Id of its request. Absent without a request. */
  id?: string
}

/** Those of one task. */
export interface UnansweredTask {
  /** As it was called. */
  task: string
  /** Absent if unknown. */
  queue?: string
  /** One entry per code. */
  codes: UnansweredCalls[]
}

/** What one hub publishes of the calls that no worker ended. PROTOCOL.md's table is made of these comments. */
export interface HubUnanswered {
  /** Redis milliseconds of the write. A record older than a minute has nothing in the last one. */
  seen: number
  /** Calling service, or empty. */
  name: string
  /** Its machine. */
  host: string
  /** Its process. */
  pid: number
  /** The 50 latest. */
  tasks: UnansweredTask[]
}

export const maxUnansweredTasks = 50
export const maxUnansweredMessage = 300
const maxTaskLength = 256
/** Whoever calls ended these by themselves: nothing is wrong. */
const own: readonly ErrorCode[] = ['HubClosed', 'Aborted']
const sliceMs = 10_000
const sliceCount = 6
const maxCodes = 20

interface Counted {
  count: number
  endedAt: number
  message: string
  id: string | undefined
  /** Number of the slice of time -> calls. */
  readonly slices: Map<number, number>
}

interface Known {
  queue: string | undefined
  readonly codes: Map<ErrorCode, Counted>
}

/** Counts what one hub refused or gave up. Time is in monotonic milliseconds and given by the caller. */
export class Unanswered {
  /** The task that was refused last is the last one. */
  readonly #tasks = new Map<string, Known>()
  #isNew = false
  #slice = 0

  count(
    called: string,
    queue: string | undefined,
    error: { kind: ErrorCode; message: string; id?: string | undefined },
    now: number,
  ): void {
    if (own.includes(error.kind)) return
    const task = called.slice(0, maxTaskLength)
    const known: Known = this.#tasks.get(task) ?? { queue, codes: new Map() }
    known.queue = queue ?? known.queue
    this.#tasks.delete(task)
    if (this.#tasks.size >= maxUnansweredTasks) this.#tasks.delete(this.#tasks.keys().next().value!)
    this.#tasks.set(task, known)
    const counted: Counted = known.codes.get(error.kind) ?? {
      count: 0,
      endedAt: now,
      message: '',
      id: undefined,
      slices: new Map(),
    }
    known.codes.set(error.kind, counted)
    counted.count++
    counted.endedAt = now
    counted.message = error.message.slice(0, maxUnansweredMessage)
    counted.id = error.id
    const slice = Math.floor(now / sliceMs)
    counted.slices.set(slice, (counted.slices.get(slice) ?? 0) + 1)
    this.#isNew = true
  }

  /** Whether what would be written differs from what was: never while nothing was refused for more than a minute. */
  isChanged(now: number): boolean {
    if (this.#isNew) return true
    const slice = Math.floor(now / sliceMs)
    return slice !== this.#slice && this.#counted().some(({ slices }) => slices.size > 0)
  }

  text(now: number, redisNowMs: number, whose: Pick<HubUnanswered, 'name' | 'host' | 'pid'>): string {
    this.#isNew = false
    this.#slice = Math.floor(now / sliceMs)
    for (const { slices } of this.#counted())
      for (const slice of slices.keys()) if (slice <= this.#slice - sliceCount) slices.delete(slice)
    const record: HubUnanswered = { seen: redisNowMs, ...whose, tasks: [] }
    let length = JSON.stringify(record).length
    for (const [task, { queue, codes }] of [...this.#tasks].reverse()) {
      const told: UnansweredTask = {
        task,
        ...(queue === undefined ? {} : { queue }),
        codes: [...codes].map(([code, { count, slices, endedAt, message, id }]) => ({
          code,
          lastMinute: [...slices.values()].reduce((sum, calls) => sum + calls, 0),
          count,
          atMs: Math.round(redisNowMs - (now - endedAt)),
          message,
          ...(id === undefined ? {} : { id }),
        })),
      }
      length += JSON.stringify(told).length + 1
      if (length > maxUnansweredLength) break
      record.tasks.push(told)
    }
    return JSON.stringify(record)
  }

  /** Whether any is in the window, or not told yet. */
  hasRecent(): boolean {
    return this.#isNew || this.#counted().some(({ slices }) => slices.size > 0)
  }

  /** What was told did not arrive. */
  again(): void {
    this.#isNew = true
  }

  #counted(): Counted[] {
    return [...this.#tasks.values()].flatMap(({ codes }) => [...codes.values()])
  }
}

/**
 * Reads what a hub wrote, who may have written anything.
 * @throws Unreadable
 */
export const readHubUnanswered = (text: string): HubUnanswered => {
  const { seen, name, host, pid, tasks } = objectOf(text, maxUnansweredLength)
  return {
    seen: isMoment(seen) ? seen : 0,
    name: textOf(name, 64),
    host: textOf(host, 256),
    pid: isCount(pid) ? pid : 0,
    tasks: (Array.isArray(tasks) ? tasks : []).slice(0, maxUnansweredTasks).flatMap(taskOf),
  }
}

const taskOf = (value: unknown): UnansweredTask[] => {
  if (!isObject(value)) return []
  const { task, queue, codes } = value
  if (typeof task !== 'string' || task === '' || !Array.isArray(codes)) return []
  const named = isQueueName(queue) ? { queue } : {}
  return [{ task: task.slice(0, maxTaskLength), ...named, codes: codes.slice(0, maxCodes).flatMap(callsOf) }]
}

const callsOf = (value: unknown): UnansweredCalls[] => {
  if (!isObject(value)) return []
  const { code, lastMinute, count, atMs, message, id } = value
  if (!isErrorCode(code) || !isCount(count) || !isMoment(atMs)) return []
  return [
    {
      code,
      lastMinute: isCount(lastMinute) ? Math.min(lastMinute, count) : 0,
      count,
      atMs,
      message: textOf(message, maxUnansweredMessage),
      ...(isId(id) ? { id } : {}),
    },
  ]
}
