import { Empty } from './empty.tsx'
import { WorkerCommand } from './worker-command.tsx'

/** The first thing that somebody sees: how to get further. */
export const NoWorkersYet = () => (
  <Empty title="No worker has declared a task yet.">
    <p>
      A task is a function in a file of your own. Start a worker that serves it; it is here within a second, together
      with a form to try it.
    </p>
    <WorkerCommand />
    <p class="quiet">
      Use the Redis that this registry looks at. <code>pshub worker --help</code> tells the rest.
    </p>
  </Empty>
)
