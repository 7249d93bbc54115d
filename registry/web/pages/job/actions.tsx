import { useState } from 'preact/hooks'
import { lazy } from 'preact-iso'
import type { JobChange, JobDetail } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { seenState } from '../../rows/jobs.ts'
import { refusal } from '../../session/access.ts'
import { post } from '../../session/request.ts'

// With the form, which is the larger part of what is sent.
const EditAndRetry = lazy(() => import('./edit.tsx').then(module => module.EditAndRetry))

const open = ['waiting', 'scheduled', 'retrying', 'running']

/** What can be done with a job in its state. */
export const JobActions = ({ job, onDone }: { job: JobDetail; onDone(): void }) => {
  const [isEditing, setEditing] = useState(false)
  const [said, setSaid] = useState('')
  const change = async (action: string, body: object, done: string, not: string) => {
    const { changed } = await post<JobChange>(`jobs/${inAddress(job.id)}/${action}`, body)
    setSaid(changed ? done : not)
    setEditing(false)
    onDone()
  }
  const { id, queue } = job
  const isDead = job.state === 'dead' && job.hasMessage
  const canCancel = open.includes(job.state) && (job.isTracked || (job.state !== 'running' && !job.batch))
  const gone = 'It was there no more.'
  const retry = (argsText?: string) => change('retry', { queue, argsText }, 'It is tried again.', gone)
  const place = { queue, ...(seenState(job.state) ? { state: job.state } : {}), ...atOf(job) }
  const reason = refusal('admin')
  return (
    <>
      <div class="job-actions">
        {isDead && (
          <>
            <ActionButton name="Try again" of={id} question="Try this job again" verb="Try it again" act={retry}>
              It goes back into its queue, with all its tries before it{job.chain && '; its chain goes on with it'}.
            </ActionButton>
            <button
              type="button"
              class="small"
              aria-expanded={isEditing}
              aria-disabled={reason !== undefined}
              title={reason}
              onClick={() => reason === undefined && setEditing(!isEditing)}
            >
              Edit the arguments and try again
            </button>
            <ActionButton
              name="Delete"
              of={id}
              question="Delete this job"
              verb="Delete it"
              act={() => change('delete', { queue }, 'It is deleted.', gone)}
            >
              It is gone for good, with its arguments{job.chain && ', and its chain never goes on'}.
            </ActionButton>
          </>
        )}
        {isPostponed(job) && (
          <ActionButton
            name="Run now"
            of={id}
            question="Run this job now"
            verb="Run it now"
            act={() =>
              change('run', place, 'It waits no longer: the next free slot takes it.', 'It had not to wait any more.')
            }
          >
            It is taken as soon as a slot is free, and not{' '}
            {job.state === 'retrying' ? 'when its next try is due' : 'at its time'}.
            {job.tries > 0 && ' Its tries before stay counted.'}
          </ActionButton>
        )}
        {canCancel && (
          <ActionButton
            name="Cancel"
            of={id}
            question="Cancel this job"
            verb="Cancel it"
            act={() => change('cancel', place, 'It is cancelled.', 'It had ended before.')}
          >
            {job.state === 'running'
              ? 'Its handler is told to end, and it is not tried again. Whether it stops is up to the handler.'
              : 'It never runs.'}
          </ActionButton>
        )}
        {open.includes(job.state) && !canCancel && (
          <span class="quiet">
            It cannot be cancelled: it is not tracked, and {job.batch ? 'a batch waits for it' : 'it runs already'}.
          </span>
        )}
        <span role="status">{said}</span>
      </div>
      {isDead && isEditing && <EditAndRetry job={job} retry={retry} />}
    </>
  )
}

/** It waits for its time or its next try, and not in the line of a key, which has a page with what can be done about it. */
const isPostponed = ({ state, key, hasMessage }: JobDetail): boolean =>
  hasMessage && key === undefined && (state === 'scheduled' || state === 'retrying')

const atOf = ({ atMs }: JobDetail): { atMs?: number } =>
  atMs === undefined || !Number.isFinite(atMs) || atMs < 0 ? {} : { atMs }
