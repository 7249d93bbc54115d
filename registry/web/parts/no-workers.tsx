import { Command } from './command.tsx'
import { Empty } from './empty.tsx'

/** The first thing that somebody sees: how to get further. */
export const NoWorkersYet = () => (
  <Empty title="No worker has declared a task yet.">
    <p>
      A task is a function in a file of your own. Start a worker that serves it; it is here within a second, together
      with a form to try it.
    </p>
    <Command>pshub worker ./tasks.mjs --queue default --redis redis://127.0.0.1:6379</Command>
    <p class="quiet">
      Use the Redis and the namespace that this registry looks at. <code>pshub worker --help</code> tells the rest.
    </p>
  </Empty>
)
