import { isAmount, isCount, isMoment, isObject, objectOf, textOf } from '../wire/foreign.ts'

/** What a worker is doing at one moment. */
export interface WorkerLook {
  worker: string
  queue: string
  pid: number
  slots: number
  /** Number of pending deliveries to other queues: next steps of chains, jobs of other shards. Usually 0. */
  outs: number
  /** When, Redis milliseconds. */
  atMs: number
  /** Its runs, longest first. Undefined if only a helper thread could answer, because the event loop is blocked. */
  running: RunLook[] | undefined
  /** How its event loop is blocked; undefined if it is not. */
  blocked: BlockedLook | undefined
}

/** A run in progress in a worker. */
export interface RunLook {
  task: string
  id: string
  isJob: boolean
  attempt: number
  /** How long it has run. */
  forMs: number
  /** Its last activity, and how long ago; undefined if none was seen. */
  last: { what: string; forMs: number } | undefined
}

/** What blocks the event loop of a worker now. */
export interface BlockedLook {
  /** The task whose handler does not return; several if that cannot be determined. */
  tasks: string[]
  ms: number
  /** The stack of the main thread, innermost first; empty if unavailable. */
  stack: string[]
}

const maxLookLength = 1_000_000
const mostRuns = 256
const mostFrames = 50

/** @throws Unreadable */
export const readWorkerLook = (text: string): WorkerLook => {
  const { worker, queue, pid, slots, outs, atMs, running, blocked } = objectOf(text, maxLookLength)
  return {
    worker: textOf(worker, 64),
    queue: textOf(queue, 64),
    pid: isCount(pid) ? pid : 0,
    slots: isCount(slots, 65_536) ? slots : 0,
    outs: isCount(outs) ? outs : 0,
    atMs: isMoment(atMs) ? atMs : 0,
    running: Array.isArray(running) ? running.slice(0, mostRuns).filter(isObject).map(readRun) : undefined,
    blocked: isObject(blocked) ? readBlocked(blocked) : undefined,
  }
}

const readRun = ({ task, id, isJob, attempt, forMs, last }: Record<string, unknown>): RunLook => ({
  task: textOf(task, 128),
  id: textOf(id, 64),
  isJob: isJob === true,
  attempt: isCount(attempt) ? attempt : 1,
  forMs: isAmount(forMs) ? forMs : 0,
  last: isObject(last) ? { what: textOf(last.what, 200), forMs: isAmount(last.forMs) ? last.forMs : 0 } : undefined,
})

const readBlocked = ({ tasks, ms, stack }: Record<string, unknown>): BlockedLook => ({
  tasks: textsOf(tasks, mostRuns),
  ms: isAmount(ms) ? ms : 0,
  stack: textsOf(stack, mostFrames),
})

const textsOf = (value: unknown, most: number): string[] =>
  Array.isArray(value) ? value.slice(0, most).map(each => textOf(each, 500)) : []
