import type { AnyTasks, Called, Entry } from '../task/task.ts'
import { monotonicMs } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import { refuseHubOptions } from '../wire/options.ts'
import type { CallPhases } from '../wire/phases.ts'
import { type CallOptions, callOptionNames, type WithPhases } from './call-options.ts'

/** An entry of gather(): a task with its arguments, and options that override the common ones. */
export type GatherEntry<T = Called, Tasks = AnyTasks> = Entry<T, CallOptions, Tasks>

/** The outcome of one entry of gather(); `ms` is its own wait, and `phases` the parts of it if requested. */
export type Gathered<T = unknown> =
  | { ok: true; value: T; ms: number; phases?: CallPhases | undefined }
  | { ok: false; error: HubError; ms: number; phases?: CallPhases | undefined }

/** To the microsecond: what lies beyond is noise. */
const msSince = (startedAt: number): number => Math.round((monotonicMs() - startedAt) * 1000) / 1000

/** Makes all calls at once and resolves when each has settled, under the names they were given. Never rejects. */
export const gatherCalls = async (
  calls: Readonly<Record<string, GatherEntry>>,
  options: CallOptions,
  call: (task: Called, args: unknown, options: CallOptions) => Promise<unknown>,
): Promise<Record<string, Gathered>> => {
  const settleOne = async ([name, entry]: [string, GatherEntry]): Promise<[string, Gathered]> => {
    const startedAt = monotonicMs()
    try {
      if (!Array.isArray(entry)) throw new HubError('InvalidArgs', `gather: '${name}' must be [task, args].`)
      const [task, args, own = {}] = entry
      for (const each of [options, own]) refuseHubOptions(`gather: '${name}'`, each, callOptionNames)
      const merged = { ...options, ...own }
      const value = await call(task, args, merged)
      const ms = msSince(startedAt)
      if (!merged.phases) return [name, { ok: true, value, ms }]
      const { result, phases } = value as WithPhases
      return [name, { ok: true, value: result, ms, phases }]
    } catch (thrown) {
      const error = thrown as HubError
      const ms = msSince(startedAt)
      return [name, error.phases ? { ok: false, error, ms, phases: error.phases } : { ok: false, error, ms }]
    }
  }
  const settled = await Promise.all(Object.entries(calls ?? {}).map(settleOne))
  return Object.fromEntries(settled)
}
