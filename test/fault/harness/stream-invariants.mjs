// What must hold of streams whatever happens, beside what holds of every call.
import { blockedMs, ms } from './invariants.mjs'
import { isTouched } from './measures.mjs'
import { stalledMs } from './stalls.mjs'

const violation = (invariant, what, token) => ({ invariant, what, token })

/** So many chunks may lie untaken. */
const window = 256
/** A reader that leaves is heard of with a beat. */
const heardMs = 3000
/** A caller that dies is missed for 10 s after what it said last, which holds for 10 s; its worker asks every 2 s. */
const missedMs = 24_000
/** A handler is told within a few steps: the machine can delay each of them, and not all that lies between. */
const mostStalledMs = 10_000

const streamsOf = ({ calls }) => [...calls.values()].filter(({ stream }) => stream !== undefined)

/** Each chunk once and in order, of that stream; and all of them where it ended well. */
export const chunks = history =>
  streamsOf(history).flatMap(({ token, settles: [settle], runs: [run] }) => {
    if (settle?.wrong) return [violation('chunks', settle.wrong, token)]
    const isWhole = settle?.code === 'OK' && !settle.left
    return isWhole && run?.yielded !== undefined && run.yielded !== settle.chunks
      ? [violation('chunks', `ended well with ${settle.chunks} of ${run.yielded} chunks`, token)]
      : []
  })

/** A handler is never further ahead of its reader than a window. */
export const pressure = history =>
  streamsOf(history).flatMap(({ token, settles: [settle], runs: [run] }) => {
    const ahead = (run?.yielded ?? 0) - (settle?.chunks ?? Infinity)
    return ahead > window ? [violation('pressure', `its handler was ${ahead} chunks ahead of its reader`, token)] : []
  })

/**
 * No handler goes on for nobody: it ends soon after its stream did, or the fault, or after its caller was killed. `unreadMs`: so long after
 * the end of a stream that the fault touched, instead of its deadline.
 * @param {any} history
 * @param {{ calmMs?: number, unreadMs?: number }} expected
 */
export const unread = (history, { calmMs = 3000, unreadMs } = {}) =>
  streamsOf(history).flatMap(call => {
    const { token, timeoutMs, settles, runs } = call
    const killedAt = history.processes.get(call.by)?.killedAt
    const overAt = settles[0]?.t ?? killedAt
    if (overAt === undefined) return []
    return runs.flatMap(run => {
      const { killedAt: died, exitedAt, signals = [] } = history.processes.get(run.by) ?? {}
      if ((died ?? exitedAt ?? Infinity) < (run.end ?? Infinity)) return []
      const wokenAt = signals.findLast(({ signal }) => signal === 'SIGCONT')?.at ?? 0
      const byDeadline = call.at + timeoutMs * 1000
      const us = allowance => Math.max(overAt, wokenAt) + allowance * 1000
      const soon = settles[0] === undefined ? us(missedMs) : us(unreadMs ?? heardMs)
      const isExcused = unreadMs === undefined && settles[0] && isTouched(history, call, calmMs)
      const limit = isExcused ? Math.max(soon, byDeadline + heardMs * 1000) : soon
      const end = run.end ?? history.marks.end ?? 0
      // It was told at that time; what the machine took before is nothing to it.
      const toldAt = Math.max(overAt, wokenAt)
      const stalled = Math.min(mostStalledMs, stalledMs(history, toldAt, end))
      const lostMs = Math.max(blockedMs(history.lags.get(run.by) ?? [], overAt, end), stalled)
      const lateMs = ms(end - limit) - lostMs
      return lateMs > 0
        ? [violation('unread', `its handler ran on for nobody, ${Math.round(lateMs)} ms too long`, token)]
        : []
    })
  })
