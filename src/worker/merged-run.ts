import type { JobEnd } from '../queue/job-queue.ts'
import type { RunArgs } from '../task/merged.ts'
import type { Task } from '../task/task.ts'
import { failureText } from '../wire/job-part.ts'
import { type Bigints, largeIn, rounded } from '../wire/json/numbers.ts'
import type { Request } from '../wire/message.ts'
import { decodePayload, invalid } from '../wire/payload.ts'

/*
 * Runs of merged jobs. Their payloads come in one list, in the order of the keys. They are cut by the bytes that are said of each, and not read
 * as that list: one that is no JSON, which anybody can have put there, is to cost the others nothing, nor to shift them.
 */

/** What cannot be read. */
const unreadable = Symbol('unreadable')

const leadingRun =
  /^(\{"at":\d+,"ttl":\d+,"id":"[\w-]+","job":(\{"fence":\d+,"run":[^{}]*\}),"task":"[^" ]*","args":\[)/

/** The payloads of a run, and its message without them; undefined for what is no run. */
export const cutRun = (
  text: string,
  bigints: Bigints = 'reject',
): { text: string; payloads: unknown[] } | undefined => {
  const [, head, part] = leadingRun.exec(text) ?? []
  if (head === undefined || part === undefined) return undefined
  const bytes = Buffer.from(text)
  let from = Buffer.byteLength(head)
  const payloads = sizesOf(part).map(size => {
    from += size + 1
    return readPayload(bytes.toString('utf8', from - size - 1, from - 1), bigints)
  })
  return {
    text: `${head}]}`,
    payloads: bytes.length === from + 1 ? payloads : listed(text, head, payloads.length, bigints),
  }
}

/** Bytes that are no UTF-8 have become others on their way here: then nothing can be cut, and the list has to do. */
const listed = (text: string, head: string, count: number, bigints: Bigints): unknown[] => {
  const list = readPayload(text.slice(head.length - 1, -1), bigints)
  return Array.isArray(list) && list.length === count ? list : Array(count).fill(unreadable)
}

const sizesOf = (part: string): number[] => {
  const { run } = JSON.parse(part) as { run: [string, number, number[]][] }
  return run.flatMap(([, , each]) => each.filter((_, at) => at % 2 === 0))
}

const readPayload = (text: string, bigints: Bigints): unknown => {
  try {
    return decodePayload(text, bigints)
  } catch {
    return unreadable
  }
}

/** Keys and payloads of a request for a task that merges its jobs; undefined for what came without a key. */
export const runArgs = ({ job, args }: Request): RunArgs | undefined => {
  // Enqueued before the task merged its jobs: alone.
  if (job?.key !== undefined) return [[job.key, [args]]]
  if (!job?.run || !Array.isArray(args)) return undefined
  let from = 0
  return job.run.map(({ key, count }) => {
    from += count
    return [key, args.slice(from - count, from)]
  })
}

/** The end of a run that is not started, because a payload of it is none that its task takes: that one is given up. */
export const refusedRun = (
  heldId: string,
  task: Task,
  run: RunArgs,
  bigints: Bigints = 'reject',
): JobEnd | undefined => {
  let reason: string | undefined
  const words = run.map(([, payloads]) => {
    for (const [at, payload] of payloads.entries()) {
      const problem = problemOf(task, payload, bigints)
      reason ??= problem
      if (problem !== undefined) return `${payload === unreadable ? 'x' : 'd'}${at + 1}`
    }
    return 'b0'
  })
  if (reason === undefined) return undefined
  const text = failureText({ code: 'InvalidArgs', message: reason })
  return { id: heldId, outcome: 'retry', delayMs: 0, keys: run.length, words, text, following: '' }
}

const problemOf = (task: Task, payload: unknown, bigints: Bigints): string | undefined => {
  if (payload === unreadable) return 'The payload is not valid JSON.'
  const large = bigints === 'exact' ? undefined : largeIn(payload)
  const plain = rounded(payload)
  const problems = large ? [large] : task.checkArgs?.(plain, JSON.stringify(plain).length)
  return problems?.length ? invalid('InvalidArgs', problems, { task: task.name.full }).message : undefined
}
