import type { Overview, TaskOverview, TaskQueue } from '../catalogue/overview.ts'
import type { Sink } from './output.ts'
import { printable } from './printable.ts'

/** `prod (first), default` */
export const queueNames = (queues: readonly TaskQueue[]): string =>
  queues.map(({ queue, first }) => (first ? `${queue} (first)` : queue)).join(', ')

/** What is worth to know of a task that live workers of more than one queue provide; undefined for one of one queue. */
export const doubledOf = ({ task, queues }: TaskOverview): string | undefined => {
  const live = queues.filter(({ workers }) => workers > 0)
  if (live.length < 2) return undefined
  const count = live.length === 2 ? 'two' : live.length
  return `${task} is served in ${count} queues: ${queueNames(live)}; calls that name none go to ${live[0]!.queue}.`
}

/** One line for what Redis has of this namespace that nobody can read; undefined where there is nothing. */
export const unreadableOf = ({ unreadable }: Overview): string | undefined => {
  const [first, ...others] = unreadable
  if (!first) return undefined
  const more = others.length === 0 ? '' : ` ${others.length} more: pshub check`
  const where = first.field === undefined ? first.key : `${first.field} of ${first.key}`
  return `${where} cannot be read and is ignored: ${first.reason}.${more}`
}

export const warn = (err: Sink, text: string | undefined): void => {
  if (text !== undefined) err.line(`${err.paint('yellow', 'Warning:')} ${printable(text)}`)
}
