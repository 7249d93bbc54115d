import type { Handler, Task, TaskContext, TaskMiddleware, TaskRequest, TaskRun } from '../task/task.ts'

/** The handlers of all tasks, with what is put around them. */
export class Handlers {
  readonly #tasks: readonly Task[]
  readonly #middlewares: TaskMiddleware[] = []
  /** Where something is put around them. */
  readonly #wrapped = new Map<Task, Handler>()

  constructor(tasks: readonly Task[]) {
    this.#tasks = tasks
  }

  /** Puts something around all of them: what was given first is outermost. */
  use(middleware: TaskMiddleware): void {
    this.#middlewares.push(middleware)
    for (const task of this.#tasks) {
      const last = ({ args }: TaskRequest, ctx: TaskContext) => task.handler(args, ctx)
      const outermost = this.#middlewares.reduceRight<TaskRun>((next, each) => each(next), last)
      this.#wrapped.set(task, (args, ctx) => outermost({ task: task.name.full, args }, ctx))
    }
  }

  of(task: Task): Handler {
    return this.#wrapped.get(task) ?? task.handler
  }
}
