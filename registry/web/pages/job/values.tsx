import { useState } from 'preact/hooks'
import type { JobDetail, JobPlaceRequest } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { argsTextOf, seenState } from '../../rows/jobs.ts'
import { post } from '../../session/request.ts'
import { Value } from './value.tsx'

/** Arguments and result; what is hidden of them is shown to whoever asks for it, and may. */
export const Values = ({ job }: { job: JobDetail }) => {
  const [revealed, setRevealed] = useState<JobDetail>()
  // In another state there may be another result, or no arguments any more.
  const shown = revealed?.state === job.state ? revealed : job
  const reveal = async () => {
    const state = seenState(job.state)
    const place: JobPlaceRequest = {
      queue: job.queue,
      ...(state ? { state } : {}),
      ...(job.atMs === undefined ? {} : { atMs: job.atMs }),
    }
    setRevealed(await post<JobDetail>(`jobs/${inAddress(job.id)}/reveal`, place))
  }
  return (
    <>
      {shown.hidden && (
        <div class="note">
          {hiddenPart(shown.hidden)} hidden and shown as <code>{'<secret>'}</code>.{' '}
          <ActionButton
            name="Show it"
            of={job.id}
            question="Show hidden values of this job"
            verb="Show it"
            act={reveal}
          >
            The values stay visible until you leave this page. The log records that you looked.
          </ActionButton>
        </div>
      )}
      {job.hasMessage && <Value title="Arguments" text={argsTextOf(shown)} />}
      {shown.result !== undefined && <Value title="Result" text={shown.result} />}
    </>
  )
}

const hiddenPart = ({ args, result }: NonNullable<JobDetail['hidden']>): string => {
  if (args && result) return 'Some of the arguments and of the result is'
  return args ? 'Some of the arguments is' : 'Some of the result is'
}
