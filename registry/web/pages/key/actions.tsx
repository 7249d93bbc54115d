import type { KeyChange, KeyDetail } from '../../../job-contract.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { mostUntyped } from '../../parts/typed.tsx'
import { post } from '../../session/request.ts'
import { count, plural } from '../../text/figures.ts'

interface ActionsProps {
  of: KeyDetail
  /** How many of it are dead. */
  dead: number
  /** What became of the last one. */
  said: string
  onDone(said: string): void
}

/** What can be done with a key where it is. */
export const KeyActions = ({ of, dead, said, onDone }: ActionsProps) => {
  const { task, key, queue, state, waiting, jobs, payloads } = of
  const place = { task, key, queue }
  // The one that is shown: asked for twice, it takes no other.
  const stuckAt = jobs[0] ? { id: jobs[0].id } : payloads[0] ? { score: payloads[0].score } : {}
  const act = async (action: 'run' | 'skip' | 'retry', tell: (changed: number) => string) => {
    const what = action === 'skip' ? stuckAt : {}
    const { changed } = await post<KeyChange>(`keys/${action}`, { ...place, ...what })
    onDone(changed > 0 ? tell(changed) : 'It no longer exists.')
  }
  const first = payloads.length > 0 ? 'The payload with the lowest score' : 'The first job'
  const what = plural(waiting, jobs.length > 0 && payloads.length === 0 ? 'job' : 'payload')
  const isNone = waiting === 0 && dead === 0
  return (
    <div class="job-actions">
      {waiting > 0 && (
        <>
          <ActionButton
            name="Run now"
            of={key}
            question="Run this key now"
            verb="Run it now"
            act={() => act('run', () => 'Due now.')}
          >
            Its waiting jobs run as soon as a slot is idle, even if they are scheduled for later. A running job keeps
            running.
          </ActionButton>
          {state !== 'running' && (
            <ActionButton
              name="Skip"
              of={key}
              question="Skip the first of this key"
              verb="Skip it"
              act={() => act('skip', () => 'Skipped; it is dead now.')}
            >
              {first} moves to the dead jobs and can be retried; the next one is due.
            </ActionButton>
          )}
          <ActionButton
            name="Delete"
            of={key}
            question={`Delete ${what}`}
            verb={`Delete ${what}`}
            typed={waiting > mostUntyped ? key : undefined}
            act={() => deleteAll(place, onDone)}
          >
            This permanently deletes everything that waits for this key. A running job keeps running.
          </ActionButton>
        </>
      )}
      {dead > 0 && (
        <ActionButton
          name="Retry dead"
          of={key}
          question={`Retry ${plural(dead, 'dead job')}`}
          verb="Retry them"
          act={() => act('retry', changed => `${plural(changed, 'dead job')} retried.`)}
        >
          They wait again with this key, with a new count of tries.
        </ActionButton>
      )}
      {isNone && state !== 'empty' && <span class="quiet">Nothing waits behind the running job.</span>}
      <span role="status">{said}</span>
    </div>
  )
}

/** Step by step: the service does a bounded part with each request. */
const deleteAll = async (
  place: { task: string; key: string; queue: string },
  onDone: (said: string) => void,
): Promise<void> => {
  let [deleted, left] = [0, 0]
  let from: string | undefined
  do {
    const step: KeyChange = await post('keys/delete', { ...place, ...(from === undefined ? {} : { from }) })
    deleted += step.changed
    left += step.skipped ?? 0
    from = step.next
  } while (from !== undefined)
  onDone(
    `${count(deleted)} deleted${left > 0 ? `; ${count(left)} cannot be deleted, because a batch waits for them` : ''}.`,
  )
}
