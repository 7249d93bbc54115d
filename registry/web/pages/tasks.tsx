import { taskPath } from '../base.ts'
import { tasks, useLive } from '../live.ts'

export const TasksPage = () => {
  useLive('tasks')
  return (
    <>
      <h1>Tasks</h1>
      <ul>
        {[...(tasks.value?.values() ?? [])].map(({ task, summary }) => (
          <li key={task}>
            <a href={taskPath(task)}>{task}</a> {summary}
          </li>
        ))}
      </ul>
    </>
  )
}
