import type { WorkerDetail } from '../../../contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { at } from '../../address/paths.ts'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { WorkerCommand } from '../../parts/worker-command.tsx'
import { WorkerLink } from '../../parts/worker-link.tsx'
import { stateOf } from '../../rows/workers.ts'
import { plural } from '../../text/figures.ts'

/** What it means that a worker leaves or is lost, and what to do. */
export const StateNote = ({ detail }: { detail: WorkerDetail }) => {
  const state = stateOf(detail.row)
  if (state === 'lost') return <Lost detail={detail} />
  if (state === 'serving') return null
  return (
    <p class="note warn">
      It is stopping: it claims nothing new, finishes its running requests (
      {plural(detail.row.stats?.busy ?? 0, 'call')}), and stops.
    </p>
  )
}

const Lost = ({ detail: { row, others } }: { detail: WorkerDetail }) => {
  const successor = others.find(({ live }) => live)
  return (
    <section class="note bad lease" aria-labelledby="lease">
      <h2 id="lease">Its lease expired</h2>
      <p>
        {row.stats ? (
          <>
            Last heartbeat <Ago atMs={row.stats.seen} />:
          </>
        ) : (
          'It has no record:'
        )}{' '}
        it crashed, or is cut off from Redis. Another worker of its queue takes over its requests within seconds: jobs
        and calls of idempotent tasks run again, other calls fail with WorkerLost. Without another worker the requests
        wait.
      </p>
      {successor && (
        <p>
          Its process continues as worker <WorkerLink id={successor.id} />, because another worker took over its
          requests.
        </p>
      )}
      <ol>
        <li>
          Check whether process {row.pid} still runs on <Text class="short">{row.host || 'its host'}</Text>, and read
          the end of its log. If it was killed for its memory, only the log of the system shows it.
        </li>
        <li>
          If it runs, check whether it reaches Redis from there: <code>pshub check</code>.
        </li>
        <li>
          If it does not, check <a href={at(`workers?queue=${inAddress(row.queue)}`)}>which workers serve its queue</a>,
          and start another one:
        </li>
      </ol>
      <WorkerCommand queue={row.queue} />
      <p>This record is deleted an hour after its last heartbeat.</p>
    </section>
  )
}
