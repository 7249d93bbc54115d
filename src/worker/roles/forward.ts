import { heldOut } from '../../jobs/held-job.ts'
import { movedMessage } from '../../jobs/job-text.ts'
import { type HeldEnd, JobQueue } from '../../queue/job-queue.ts'
import type { Redis } from '../../redis/connection.ts'
import { isFull, isTransient } from '../../redis/failures.ts'
import type { HeldText } from '../../wire/answers.ts'
import { backoffMs, monotonicMs, sleep } from '../../wire/clock.ts'
import { isQueueName, makeKeys } from '../../wire/keys.ts'
import type { Request } from '../../wire/message.ts'
import type { WorkerContext } from '../context.ts'

/** Many may wait for a queue that cannot be written. */
const longestPauseMs = 5000

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
    for (const out of outs) if (this.#context.slots.know(out.id)) this.#track(this.#send(out, workerId))
  }

  /** A job that was taken at `nowUs` and belongs into another shard: there it is put in, and here, behind that, the next one of its key may be taken. */
  move(job: Request, shard: string, workerId: string, nowUs: number): void {
    this.#track(this.#move(job, shard, workerId, nowUs))
  }

  /** Resolves when all that was given here is done, or left to stop(). */
  async drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** What is not done yet stays held: the next worker adopts it. */
  stop(): void {
    this.#stopping.abort()
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  #send({ id, text }: HeldText, workerId: string): Promise<void> {
    const { queue, slots } = this.#context
    slots.sendOut(id)
    const out = heldOut(id)
    const target = out && isQueueName(out.queue) ? this.#queueOf(out.queue) : undefined
    const tally = /^tally ([\w-]+) ([\w-]+) (\w+)$/.exec(text)
    const act = async (client: Redis) => {
      // What was pushed by hand there goes as it came.
      if (target && tally) await target.tally(client, tally[1]!, tally[2]!, tally[3]!)
      else if (target) await target.forward(client, text)
      await queue.release(client, workerId, [id])
    }
    return this.#onceDone(id, workerId, act, async client => {
      if (target && !tally) await target.forget(client, out!.id)
    })
  }

  #move({ id, heldId, text }: Request, shard: string, workerId: string, nowUs: number): Promise<void> {
    const { jobQueue, slots } = this.#context
    slots.sendOut(heldId)
    // Counted from the claim: while Redis is away its clock is not known.
    const startedAt = monotonicMs()
    const target = this.#queueOf(shard)
    const end: HeldEnd = {
      id: heldId,
      at: slots.atOf(heldId),
      outcome: 'moved',
      delayMs: 0,
      text: shard,
      following: '',
    }
    const act = async (client: Redis) => {
      await target.forward(client, movedMessage(text, nowUs + (monotonicMs() - startedAt) * 1000))
      await jobQueue.settle(client, workerId, [end])
    }
    return this.#onceDone(heldId, workerId, act, client => target.forget(client, id))
  }

  /** Tries until it is done, or somebody else's now, or this ends; and then what forgets that it was. */
  async #onceDone(
    heldId: string,
    workerId: string,
    act: (client: Redis) => Promise<void>,
    forget: (client: Redis) => Promise<void>,
  ): Promise<void> {
    const { commands, slots, fetch, problem } = this.#context
    let isDone = false
    for (let attempt = 0; workerId === this.#context.workerId(); attempt++) {
      try {
        await commands.send(async client => {
          // Behind its release it must not be done again: what remembered it there is perhaps gone already, its answer lost.
          if (!isDone) {
            await act(client)
            isDone = true
            // Not remembered as released: should Redis forget this, it is done again, and known to have come where it did.
            slots.forget([heldId])
            fetch.slotsIdle()
          }
          await forget(client)
        })
        return
      } catch (error) {
        if (!isTransient(error) && !isFull(error as Error)) problem('forward')(error as Error)
      }
      await sleep(backoffMs(attempt, 20, longestPauseMs), this.#stopping.signal)
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
