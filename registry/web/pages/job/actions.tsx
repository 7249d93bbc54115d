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
  const gone = 'The job no longer exists.'
  const retry = (argsText?: string) => change('retry', { queue, argsText }, 'Retried.', gone)
  const place = { queue, ...(seenState(job.state) ? { state: job.state } : {}), ...atOf(job) }
  const reason = refusal('admin')
  return (
    <>
      <div class="job-actions">
        {isDead && (
          <>
            <ActionButton name="Retry" of={id} question="Retry this job" verb="Retry it" act={retry}>
              It goes back into its queue with all its retries again{job.chain && '; its chain continues'}.
            </ActionButton>
            <button
              type="button"
              class="small"
              aria-expanded={isEditing}
              aria-disabled={reason !== undefined}
              title={reason}
              onClick={() => reason === undefined && setEditing(!isEditing)}
            >
              Edit and retry
            </button>
            <ActionButton
              name="Delete"
              of={id}
              question="Delete this job"
              verb="Delete it"
              act={() => change('delete', { queue }, 'Deleted.', gone)}
            >
              This permanently deletes the job and its arguments{job.chain && '; its chain will not continue'}.
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
              change('run', place, 'Due now: the next idle slot runs it.', 'It was no longer waiting for its time.')
            }
          >
            It runs as soon as a slot is idle, not{' '}
            {job.state === 'retrying' ? 'when its next try is due' : 'at its time'}.
            {job.tries > 0 && ' It keeps its count of tries.'}
          </ActionButton>
        )}
        {canCancel && (
          <ActionButton
            name="Cancel"
            of={id}
            question="Cancel this job"
            verb="Cancel it"
            act={() => change('cancel', place, 'Cancelled.', 'It had already ended.')}
          >
            {job.state === 'running'
              ? 'The abort signal of its handler fires, and it is not retried. The handler decides whether to stop.'
              : 'It will not run.'}
          </ActionButton>
        )}
        {open.includes(job.state) && !canCancel && (
          <span class="quiet">
            It cannot be cancelled: it is not tracked, and{' '}
            {job.batch ? 'a batch waits for it' : 'it is already running'}.
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
