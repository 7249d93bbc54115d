import { type FailureOverview, makePauses, type SlowCallOverview, type UnansweredOverview } from 'pshub'
import { type CallList, type CallPhase, callPhases, mostCalls } from '../contract.ts'
import { Fields } from './fields.ts'

/** What somebody asks for of such a list. */
export interface CallsAsked {
  task: string | undefined
  code: string | undefined
  /** In small letters. */
  words: readonly string[]
  phase: CallPhase | undefined
  limit: number
}

/** What each kind of row has in common, for the filters. */
interface Listed {
  task: string
  code?: string
}

/** Those that the page of one task or worker has. */
export const mostOfOne = 100

const mostNames = 1000
const maxTextLength = 200
const rowsBetweenLooks = 200

/** @throws Refusal */
export const callsAsked = (query: unknown, names: readonly string[]): CallsAsked => {
  const fields = new Fields(query, [...names, 'text', 'limit'])
  const words = (fields.text('text', maxTextLength) ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return {
    task: fields.text('task', 256) || undefined,
    code: fields.text('code', 64) || undefined,
    words,
    phase: names.includes('phase') ? fields.choice('phase', callPhases) : undefined,
    limit: Math.max(1, fields.count('limit', mostCalls) ?? mostCalls),
  }
}

/** The first of those that fit, in their order. Rows may be tens of thousands: others have their turn meanwhile. */
export const callList = async <Call extends Listed>(
  all: readonly Call[],
  { task, code, words, limit }: CallsAsked,
  textOf: (call: Call) => string,
  {
    isOfPhase = () => true,
    timesOf = () => 1,
  }: { isOfPhase?(call: Call): boolean /** How many calls a row is of. */; timesOf?(call: Call): number } = {},
): Promise<CallList<Call>> => {
  const [tasks, codes] = [new Set<string>(), new Set<string>()]
  const calls: Call[] = []
  let [fitting, total] = [0, 0]
  const pause = makePauses()
  for (const [at, call] of all.entries()) {
    if (at % rowsBetweenLooks === 0) await pause()
    total += timesOf(call)
    if (tasks.size < mostNames) tasks.add(call.task)
    if (call.code !== undefined && codes.size < mostNames) codes.add(call.code)
    if (task !== undefined && call.task !== task) continue
    if (code !== undefined && (call.code ?? 'ok') !== code) continue
    if (!isOfPhase(call)) continue
    if (words.length > 0 && !hasWords(textOf(call), words)) continue
    if (fitting++ < limit) calls.push(call)
  }
  return { calls, fitting, total, tasks: [...tasks].sort(), codes: [...codes].sort() }
}

const hasWords = (text: string, words: readonly string[]): boolean => {
  const small = text.toLowerCase()
  return words.every(word => small.includes(word))
}

export const textOfFailure = ({ task, code, message, id, from, worker, host, pid }: FailureOverview): string =>
  `${task} ${code} ${message} ${id} ${from ?? ''} ${worker} ${host} ${pid}`

export const textOfUnanswered = ({ task, code, message, id, from, hub, host, pid }: UnansweredOverview): string =>
  `${task} ${code} ${message} ${id ?? ''} ${from} ${hub} ${host} ${pid}`

export const textOfSlowCall = ({ task, id, code, from, worker, host, pid }: SlowCallOverview): string =>
  `${task} ${id} ${code ?? 'ok'} ${from ?? ''} ${worker} ${host} ${pid}`
