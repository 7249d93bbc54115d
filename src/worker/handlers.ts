import type { Handler, Task, TaskContext, TaskRequest, TaskRun } from '../task/task.ts'
import { drained } from './answers/yielded.ts'

/** The handlers of all tasks, with what is put around them. */
export class Handlers {
  readonly #tasks: readonly Task[]
  readonly #middlewares: ((next: TaskRun) => TaskRun)[] = []
  /** Where something is put around them; and which requests came through all of it, by id. */
  readonly #wrapped = new Map<Task, Handler>()
  readonly #reached = new Set<string>()

  constructor(tasks: readonly Task[]) {
    this.#tasks = tasks
  }

  /** Puts something around all of them: what was given first is outermost. */
  use(middleware: (next: TaskRun) => TaskRun): void {
    this.#middlewares.push(middleware)
    for (const task of this.#tasks) {
      const last = ({ args }: TaskRequest, ctx: TaskContext) => {
        this.#reached.add(ctx.id)
        return drained(task.handler(args, ctx), ctx)
      }
      const outermost = this.#middlewares.reduceRight<TaskRun>((next, each) => each(next), last)
      this.#wrapped.set(task, (args, ctx) => outermost({ task: task.name.full, args }, ctx))
    }
  }

  of(task: Task): Handler {
    return this.#wrapped.get(task) ?? task.handler
  }

  /** Whether that request came to the handler itself. */
  wasReached(task: Task, id: string): boolean {
    return !this.#wrapped.has(task) || this.#reached.has(id)
  }

  /** That request has ended. */
  forget(id: string): void {
    this.#reached.delete(id)
  }
}
