import type { EventMap } from '../figures/events.ts'
import { within } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import type { Crew } from './crew.ts'

/** How long the last confirmations are waited for. */
const patienceMs = 2000

/** What became of that which a crew still had when its worker was told to stop. */
export interface Left {
  handedBack: number
  abandoned: number
}

/** After the last claim: lets what runs finish until `graceOver`, gives the rest up, and waits until all that is confirmed. */
export const finish = async (crew: Crew, isKnown: boolean, graceOver: AbortSignal): Promise<Left> => {
  const { intake, settle, forward, farewell, executor } = crew
  const handedBack = isKnown ? await farewell.handBackUnknown() : 0
  await within(intake.idle(), Number.POSITIVE_INFINITY, graceOver)
  const reason = new HubError('WorkerLost', 'The worker was stopped before the task had finished.')
  const abandoned = executor.abandonAll(reason)
  await within(
    intake
      .idle()
      .then(() => settle.drained())
      .then(() => forward.drained()),
    patienceMs,
  )
  settle.stop()
  forward.stop()
  return { handedBack, abandoned }
}

/** Behind that: ends the lease, with what is still held. Returns what is told of the end. */
export const leave = async (
  crew: Crew,
  isKnown: boolean,
  { handedBack, abandoned }: Left,
): Promise<EventMap['worker:stopped']> => {
  const { beat, adopt, due, tick, farewell, executor, workerId, queue } = crew
  await Promise.all([beat.stop(), adopt.stop(), due.stop(), tick.stop()])
  const last = isKnown ? await farewell.leave() : 0
  executor.stop()
  crew.forget()
  return { worker: workerId(), queue: queue.name, handedBack: handedBack + last, abandoned }
}
