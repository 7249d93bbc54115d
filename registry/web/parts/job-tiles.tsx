import type { ComponentChildren } from 'preact'
import { jobsPath } from '../address/paths.ts'
import type { ListedState } from '../rows/jobs.ts'
import { count, span } from '../text/figures.ts'

interface Jobs {
  jobs: number
  oldestJobMs?: number | undefined
  scheduled?: number | undefined
  retrying?: number | undefined
  dead: number
}

/** How many jobs are where, of all queues or of one; each leads to them. */
export const JobTiles = ({
  of: { jobs, oldestJobMs, scheduled, retrying, dead },
  queue,
}: {
  of: Jobs
  queue?: string
}) => {
  const tile = (state: ListedState, name: string, value: number | undefined, note: ComponentChildren) => (
    <div class="tile" key={state}>
      <dt>
        <a
          class="plain"
          href={jobsPath({ ...(queue === undefined ? {} : { queue }), ...(state === 'waiting' ? {} : { state }) })}
        >
          {name}
        </a>
      </dt>
      <dd>
        <span class={state === 'dead' && dead > 0 ? 'tile-value failing' : 'tile-value'}>{count(value)}</span>
        <span class="tile-note quiet">{note}</span>
      </dd>
    </div>
  )
  return (
    <section class="part" aria-label="Jobs">
      <dl class="tiles">
        {tile(
          'waiting',
          'Jobs waiting',
          jobs,
          oldestJobMs === undefined ? 'none is due' : `oldest due for ${span(oldestJobMs)}`,
        )}
        {tile('scheduled', 'Jobs scheduled', scheduled, 'for their time')}
        {tile('retrying', 'Jobs retrying', retrying, 'for another try')}
        {tile('dead', 'Jobs dead', dead, 'retries used up')}
      </dl>
    </section>
  )
}
