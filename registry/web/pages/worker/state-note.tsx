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
      It was asked to stop: it takes nothing new, finishes what runs ({plural(detail.row.stats?.busy ?? 0, 'call')}),
      and leaves.
    </p>
  )
}

const Lost = ({ detail: { row, others } }: { detail: WorkerDetail }) => {
  const successor = others.find(({ live }) => live)
  return (
    <section class="note bad lease" aria-labelledby="lease">
      <h2 id="lease">Its lease ended</h2>
      <p>
        {row.stats ? (
          <>
            It was heard of last <Ago atMs={row.stats.seen} />:
          </>
        ) : (
          'It told nothing of itself:'
        )}{' '}
        it died, or is cut off from Redis. What it held another worker of its queue takes over within seconds: jobs and
        calls of idempotent tasks run again, other calls fail with WorkerLost. While there is no other worker, that
        waits.
      </p>
      {successor && (
        <p>
          Its process goes on as worker <WorkerLink id={successor.id} />, because another one took over what it held.
        </p>
      )}
      <ol>
        <li>
          See whether process {row.pid} still runs on <Text class="short">{row.host || 'its host'}</Text>, and read the
          end of its log. One that was killed for its memory says nothing there; the log of the system does.
        </li>
        <li>
          If it runs, see whether it reaches Redis from there: <code>pshub check</code> tries it.
        </li>
        <li>
          If it does not, see <a href={at(`workers?queue=${inAddress(row.queue)}`)}>who else serves its queue</a>, and
          start another one:
        </li>
      </ol>
      <WorkerCommand queue={row.queue} />
      <p>This record goes an hour after it was heard of last.</p>
    </section>
  )
}
