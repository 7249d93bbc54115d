import type { WorkerLook } from '../../figures/worker-look.ts'
import { showTo } from '../../queue/inspect.ts'
import type { Beat } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

/** Says what this worker is doing: to its own process, and to who asks through Redis, as its beats tell it. */
export class Show {
  readonly #context: WorkerContext

  constructor(context: WorkerContext) {
    this.#context = context
  }

  onBeat({ askedBy }: Beat): void {
    if (askedBy === undefined) return
    const { commands, queue, problem } = this.#context
    const text = JSON.stringify(this.look())
    commands.send(client => showTo(client, queue.keys, askedBy, text)).catch(problem('inspect'))
  }

  look(): WorkerLook {
    const { workerId, queue, slots, executor, clock } = this.#context
    const now = monotonicMs()
    return {
      worker: workerId(),
      queue: queue.name,
      pid: process.pid,
      slots: slots.size,
      outs: slots.outs,
      atMs: Math.floor(clock.atUs(now) / 1000),
      running: executor.look(now),
      blocked: undefined,
    }
  }
}
