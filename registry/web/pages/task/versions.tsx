import type { TaskDetail } from '../../../contract.ts'
import { taskPath } from '../../address/paths.ts'
import { Badge } from '../../parts/badge.tsx'
import { Text } from '../../parts/text.tsx'
import { count, ms } from '../../text/figures.ts'
import { Versions as VersionChanges } from '../../versions/index.tsx'

/** All versions of this name, newest first; what changed between two of them belongs below the table. */
export const Versions = ({ detail }: { detail: TaskDetail }) => (
  <section class="part" aria-labelledby="versions">
    <h2 id="versions">Versions</h2>
    <div class="scroll panel">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">version</th>
            <th scope="col" class="number">
              workers
            </th>
            <th scope="col" class="number">
              timeout
            </th>
            <th scope="col">idempotent</th>
          </tr>
        </thead>
        <tbody>
          {detail.versions.map(({ task, version, workers, timeoutMs, idempotent }) => (
            <tr key={task}>
              <th scope="row" class="grow">
                {task === detail.row.task ? (
                  <>
                    <Text class="short">{version}</Text> <Badge tone="quiet">this one</Badge>
                  </>
                ) : (
                  <a href={taskPath(task)}>
                    <Text class="short">{version}</Text>
                  </a>
                )}
                {workers === 0 && <Badge tone="bad">no workers</Badge>}
              </th>
              <td class="number">{count(workers)}</td>
              <td class="number">{ms(timeoutMs)}</td>
              <td>{idempotent ? 'yes' : 'no'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <VersionChanges detail={detail} />
  </section>
)
