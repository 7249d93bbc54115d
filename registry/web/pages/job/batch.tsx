import type { JobDetail } from '../../../job-contract.ts'
import { jobPath } from '../../address/paths.ts'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { count, percent } from '../../text/figures.ts'

type Batch = NonNullable<JobDetail['batch']>

/** A batch: how many of its jobs ended well, how many did not, how many are left, and what follows. */
export const BatchPicture = ({ batch: { id, queue, status, after, failed } }: { batch: Batch }) => (
  <section class="part" aria-labelledby="job-batch">
    <div class="part-head">
      <h2 id="job-batch">Batch</h2>
      <span class="quiet">
        <Text class="short mono">{id}</Text>
      </span>
    </div>
    {status ? (
      <div class="batch">
        <Members status={status} />
        <span class="batch-arrow" aria-hidden="true">
          →
        </span>
        <div class="batch-next">
          <Next
            title={failed ? 'When all are done' : 'When all have ended'}
            job={after}
            queue={queue}
            isIt={status.endedMs !== undefined && !(failed && status.dead > 0)}
          />
          {failed && (
            <Next
              title="When a job failed"
              job={failed}
              queue={queue}
              isIt={status.endedMs !== undefined && status.dead > 0}
            />
          )}
        </div>
      </div>
    ) : (
      <p class="quiet">There is no record of it any more: it ended more than an hour ago.</p>
    )}
  </section>
)

const Members = ({ status: { total, done, dead, endedMs } }: { status: NonNullable<Batch['status']> }) => {
  const left = total === undefined ? undefined : Math.max(0, total - done - dead)
  const shares = [
    ['done', done],
    ['dead', dead],
    ['left', left ?? 0],
  ] as const
  const all = Math.max(1, total ?? done + dead)
  return (
    <div class="batch-members">
      <div class="batch-bar" aria-hidden="true">
        {shares.map(([name, value]) => (
          <span key={name} data-share={name} style={{ flexGrow: value / all }} />
        ))}
      </div>
      <dl class="batch-key">
        {shares.map(([name, value]) => (
          <div key={name}>
            <dt>
              <span class="swatch" data-share={name} aria-hidden="true" /> {name === 'dead' ? 'failed' : name}
            </dt>
            <dd>{name === 'left' && left === undefined ? 'not known yet' : count(value)}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        {total === undefined ? (
          'Its jobs are being enqueued.'
        ) : endedMs === undefined ? (
          `${percent((done + dead) / all)} of ${count(total)} jobs have ended.`
        ) : (
          <>
            All {count(total)} jobs have ended, the last one <Ago atMs={endedMs} />.
          </>
        )}
      </p>
    </div>
  )
}

const Next = ({ title, job, queue, isIt }: { title: string; job: Batch['after']; queue: string; isIt: boolean }) => (
  <div class={isIt ? 'step done' : 'step pending'}>
    <span class="quiet">{title}</span>
    {job ? (
      isIt ? (
        <a href={jobPath(job.id, { queue })}>
          <Text>{job.task}</Text>
        </a>
      ) : (
        <Text>{job.task}</Text>
      )
    ) : (
      'nothing follows'
    )}
  </div>
)
