import { heldOut } from '../../jobs/held-job.ts'
import { JobQueue } from '../../queue/job-queue.ts'
import { isFull, isTransient } from '../../redis/connection.ts'
import type { HeldText } from '../../wire/answers.ts'
import { backoffMs, sleep } from '../../wire/clock.ts'
import { isQueueName, makeKeys } from '../../wire/keys.ts'
import type { WorkerContext } from '../context.ts'

/**
 * Does in other queues what an end here asks for: the next step of a chain is put in there, a batch is told. It is held here until it is
 * done there, like a request, and adopted when this worker dies; whoever repeats it finds that it was done.
 */
export class Forward {
  readonly #context: WorkerContext
  readonly #stopping = new AbortController()
  readonly #queues = new Map<string, JobQueue>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  send(outs: readonly HeldText[], workerId: string): void {
    for (const out of outs) {
      if (!this.#context.slots.know(out.id)) continue
      const work = this.#send(out, workerId).finally(() => this.#underWay.delete(work))
      this.#underWay.add(work)
    }
  }

  /** Resolves when all that was given here is done, or left to stop(). */
  async drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** What is not done yet stays held: the next worker adopts it. */
  stop(): void {
    this.#stopping.abort()
  }

  async #send({ id, text }: HeldText, workerId: string): Promise<void> {
    const { queue, commands, slots, problem } = this.#context
    const out = heldOut(id)
    const target = out && isQueueName(out.queue) ? this.#queueOf(out.queue) : undefined
    const tally = /^tally ([\w-]+) ([\w-]+) (\w+)$/.exec(text)
    let isReleased = false
    for (let attempt = 0; workerId === this.#context.workerId(); attempt++) {
      try {
        await commands.send(async client => {
          // Behind its release it must not be done again: what remembered it there is perhaps gone already, its answer lost.
          if (!isReleased) {
            // What was pushed by hand there goes as it came.
            if (target && tally) await target.tally(client, tally[1]!, tally[2]!, tally[3]!)
            else if (target) await target.forward(client, text)
            await queue.release(client, workerId, [id])
            isReleased = true
            // Not remembered as released: should Redis forget this, it is done again, and known to have come where it did.
            slots.forget([id])
          }
          if (target && !tally) await target.forget(client, out!.id)
        })
        return
      } catch (error) {
        if (!isTransient(error) && !isFull(error as Error)) problem('forward')(error as Error)
      }
      await sleep(backoffMs(attempt, 20, 1000), this.#stopping.signal)
      await commands.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
    }
  }

  #queueOf(name: string): JobQueue {
    let queue = this.#queues.get(name)
    if (!queue) {
      queue = new JobQueue(name, makeKeys(this.#context.settings.namespace))
      this.#queues.set(name, queue)
    }
    return queue
  }
}
