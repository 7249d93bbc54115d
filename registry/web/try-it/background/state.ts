import { useState } from 'preact/hooks'
import { taskInAddress } from '../../../call-contract.ts'
import type { EnqueueAnswer, ScheduleRow } from '../../../job-contract.ts'
import { refusal } from '../../session/access.ts'
import { type ApiFailure, post } from '../../session/request.ts'
import { isTracked, type JobChoices, noChoices, optionsOf, type ScheduleChoices, scheduleOf } from './choices.ts'

/** What became of it. */
export type Done =
  | { kind: 'enqueued'; answer: EnqueueAnswer; isTracked: boolean }
  | { kind: 'merged'; answer: EnqueueAnswer; key: string }
  | { kind: 'scheduled'; schedule: ScheduleRow }
  | { kind: 'failed'; message: string }

/** Enqueues what is in the form, or has it enqueued at times. */
export const useBackground = (task: string, isMerged: boolean) => {
  const [choices, setChoices] = useState<JobChoices>(noChoices)
  const [times, setTimes] = useState<ScheduleChoices>(() => ({ name: '', cron: '', timezone: '', missed: 'once' }))
  const [done, setDone] = useState<Done>()
  const [isBusy, setBusy] = useState(false)
  const send = async (ask: () => Promise<Done>) => {
    setBusy(true)
    setDone(undefined)
    try {
      setDone(await ask())
    } catch (error) {
      setDone({ kind: 'failed', message: (error as ApiFailure).message })
    }
    setBusy(false)
  }
  const refuse = (message: string) => setDone({ kind: 'failed', message })
  const enqueue = async (args: unknown) => {
    const read = optionsOf(choices, Date.now(), isMerged)
    if ('wrong' in read) return refuse(read.wrong)
    const { options } = read
    await send(async () => {
      const answer = await post<EnqueueAnswer>(`enqueue/${taskInAddress(task)}`, { args, options })
      if (isMerged) return { kind: 'merged', answer, key: options.key ?? '' }
      return { kind: 'enqueued', answer, isTracked: isTracked(options) }
    })
  }
  const schedule = async (args: unknown) => {
    const refused = refusal('admin')
    if (refused !== undefined) return refuse(refused)
    const read = scheduleOf(times, task, args, choices.key)
    if ('wrong' in read) return refuse(read.wrong)
    await send(async () => ({ kind: 'scheduled', schedule: await post<ScheduleRow>('schedules', read.schedule) }))
  }
  return { choices, setChoices, times, setTimes, done, isBusy, refuse, enqueue, schedule }
}
