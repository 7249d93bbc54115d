import { Empty } from './empty.tsx'
import { WorkerCommand } from './worker-command.tsx'

/** The first thing that somebody sees: how to get further. */
export const NoWorkersYet = () => (
  <Empty title="No worker has declared a task yet.">
    <p>
      A task is a function in your code. Start a worker that serves it; the task appears here within a second, together
      with a form to try it.
    </p>
    <WorkerCommand />
    <p class="quiet">
      Use the same Redis as this registry. For all options: <code>pshub worker --help</code>.
    </p>
  </Empty>
)
