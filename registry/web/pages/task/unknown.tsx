import { nearNames } from '../../../../src/wire/text/near-names.ts'
import { at, taskPath } from '../../address/paths.ts'
import { tasks } from '../../live/shown.ts'
import { Empty } from '../../parts/empty.tsx'
import { Text } from '../../parts/text.tsx'
import { WorkerCommand } from '../../parts/worker-command.tsx'

/** A task that no worker ever declared: its name may be misspelt, or its worker has yet to start. */
export const UnknownTask = ({ task }: { task: string }) => {
  const near = nearNames(task, tasks.value?.keys() ?? [], 5)
  return (
    <Empty title="The registry knows no such task.">
      {near.length > 0 && (
        <>
          <p>Did you mean one of these?</p>
          <ul class="chips">
            {near.map(name => (
              <li key={name}>
                <a href={taskPath(name)}>
                  <Text>{name}</Text>
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        It appears here by itself as soon as a worker declares it. See <a href={at('tasks')}>all tasks</a>, or start a
        worker:
      </p>
      <WorkerCommand />
    </Empty>
  )
}
