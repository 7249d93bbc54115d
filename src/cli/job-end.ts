import type { Job } from '../jobs/job.ts'
import { sleep } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import { writeResult } from './call.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { timeoutOf } from './flag-values.ts'
import { ToldProgress } from './progress.ts'

/** A year: without --timeout somebody waits until the job ends, or until Ctrl-C. */
const asLongAsItTakesMs = 365 * 24 * 3600 * 1000

export const waitOptions: Command['options'] = [
  { flag: 'wait', about: 'wait until it ends and print its result, as pshub call does' },
  { flag: 'timeout', value: 'time', about: 'how long to wait', fallback: 'until it ends' },
]

/** Waits for the end of a job and prints its result. Rejects as Job.result(). */
export const writeEnd = async (job: Job, invocation: Invocation, interrupt: AbortSignal): Promise<number> => {
  const timeoutMs = timeoutOf(invocation.flags, 'job') ?? asLongAsItTakesMs
  const ended = new AbortController()
  const shown = showProgress(job, invocation, ended.signal)
  try {
    const result = await job.result({ timeoutMs, signal: interrupt }).finally(async () => {
      ended.abort()
      await shown
    })
    writeResult(result, invocation)
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'NotEnqueued') throw error
    // The job is there: nothing must say that it was not run.
    throw new HubError('OutcomeUnknown', `Redis became unreachable, so the state of job ${job.id} is unknown.`, {
      task: job.task,
      id: job.id,
      cause: error,
    })
  }
  return exitCodes.ok
}

const lookMs = 500

/** While it runs; until the signal fires. */
const showProgress = async (job: Job, { output: { err }, host }: Invocation, ended: AbortSignal): Promise<void> => {
  if (!err.isTerminal) return
  const line = new ToldProgress(text => void host.stderr.write(text))
  while (!ended.aborted) {
    const { progress } = await job.status().catch(() => ({ progress: undefined }))
    if (progress && !ended.aborted) line.show(progress)
    await sleep(lookMs, ended)
  }
  line.end()
}
