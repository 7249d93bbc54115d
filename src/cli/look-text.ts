import type { BlockedLook, RunLook, WorkerLook } from '../figures/worker-look.ts'
import { formatDuration } from './duration.ts'
import { printable } from './printable.ts'

/** What a worker is doing, as lines for people. */
export const lookLines = (look: WorkerLook): string[] => {
  const { worker, queue, pid, slots, outs, running, blocked } = look
  const idle = blocked ? 'its event loop is blocked' : 'it does not report what it runs'
  const busy = running ? `${running.length} of ${slots} slots busy` : idle
  const head = `worker ${printable(worker)}, queue ${printable(queue)}, pid ${pid}: ${busy}${outs ? `, ${outs} waiting for other queues` : ''}`
  return [head, ...(running ?? []).flatMap(runLines), ...(blocked ? blockedLines(blocked) : [])]
}

const runLines = ({ task, id, isJob, attempt, forMs, last }: RunLook, at: number): string[] => {
  const kind = isJob ? `job, attempt ${attempt}` : 'call'
  const seen = last ? `${printable(last.what)}, ${formatDuration(last.forMs)} ago` : 'no activity since it started'
  return [`${at + 1}. ${printable(task)} ${printable(id)} (${kind}), for ${formatDuration(forMs)}`, `   ${seen}`]
}

const blockedLines = ({ tasks, ms, stack }: BlockedLook): string[] => {
  const whom = tasks.length === 0 ? 'no task' : tasks.map(printable).join(' or ')
  const place = stack.length === 0 ? ['   no stack available: it waits inside native code'] : []
  return [`for ${formatDuration(ms)} by ${whom}`, ...place, ...stack.map(frame => `   at ${printable(frame)}`)]
}
