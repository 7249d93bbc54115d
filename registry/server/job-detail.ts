import type { JobDetails } from 'pshub'
import type { JobDetail } from '../job-contract.ts'
import { placeholder } from '../schema/secrets.ts'
import type { Mask } from './masks.ts'
import type { Rights } from './rules.ts'

/** In the place of the name of a task that is hidden: that there is one is told where the job itself is of another task. */
const hiddenTask = '(hidden)'

/** A job as somebody may see it. @param mask undefined: nothing of its values is hidden */
export const shownJob = (job: JobDetails, { sees }: Rights, mask: Mask | undefined): JobDetail => {
  const named = <T extends { id: string; task: string }>(other: T | undefined) =>
    other && !sees(other.task) ? { id: other.id, task: hiddenTask } : other
  return {
    ...job,
    ...(mask && hiddenOf(job, mask)),
    chain: job.chain && {
      ...job.chain,
      steps: job.chain.steps.map(step =>
        sees(step.task) ? step : { ...{ id: step.id, queue: step.queue, task: hiddenTask }, state: 'pending' as const },
      ),
    },
    batch: job.batch && { ...job.batch, after: named(job.batch.after), failed: named(job.batch.failed) },
  }
}

const hiddenOf = (
  job: JobDetails,
  mask: Mask,
): Pick<JobDetail, 'args' | 'result' | 'unique' | 'hidden'> & { argsText: string | undefined } => {
  const args = mask.args(job.task, job.args)
  const result = job.result === undefined ? undefined : mask.result(job.task, job.result)
  const hidden = { args: !args.isWhole, result: result?.isWhole === false }
  // The text says the same in full.
  return {
    args: args.value,
    argsText: hidden.args ? undefined : job.argsText,
    result: result?.json,
    // A digest of the arguments: what was left out of them could be searched for.
    unique: hidden.args ? job.unique?.replace(/#[^#]*$/, `#${placeholder}`) : job.unique,
    ...(hidden.args || hidden.result ? { hidden } : {}),
  }
}
