import { isHeldOut } from '../../jobs/held-job.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'
import { isHeldLost } from '../held.ts'

/**
 * Finds what Redis says is held here and this worker does not know of. It would stay for ever: a live worker's lease never ends,
 * so nobody adopts from it. Run with each beat, which brings what is held. An id counts as lost when two looks in a row found it unknown, because at
 * a single look its claim may just be on its way here; and when the beat of the second one was sent behind the first one: of two
 * beats close by both looks may meet the same claim on its way, and what is put back then runs twice. While the answer of a claim is coming
 * in that was sent before the first look, it may be what brings them.
 *
 * 1. A claim whose answer was lost: back to the list. Not run here, because a claim for all idle slots is under way already, and
 *    would bring more than there is room for.
 * 2. An adoption whose answer was lost: what it left to this worker is answered.
 *    The same for what is to be done in other queues.
 * 3. What was settled and released here: a replica was promoted that had not heard of that. Released again, and never run again.
 */
export class Reconcile {
  readonly #context: WorkerContext
  /** Unknown at the last look, and since when: monotonic milliseconds of the first look that found it so. */
  #suspects = new Map<string, number>()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /**
   * @param held ids of what is held, which came with the beat
   * @param nowUs Redis' time of the beat
   * @param sentAt when that was sent, monotonic milliseconds
   * @param arrivingSince when a claim was sent whose answer is coming in
   */
  async look(held: readonly string[], nowUs: number, sentAt: number, arrivingSince?: number): Promise<void> {
    const { queue, commands, slots, workerId, intake, adopt, forward, problem } = this.#context
    const id = workerId()
    const unknown = held.filter(each => !slots.knows(each))
    const foundBefore = Math.min(sentAt, arrivingSince ?? Number.POSITIVE_INFINITY)
    const lost = unknown.filter(each => (this.#suspects.get(each) ?? Number.POSITIVE_INFINITY) < foundBefore)
    const now = monotonicMs()
    this.#suspects = new Map(unknown.map(each => [each, this.#suspects.get(each) ?? now]))
    if (lost.length === 0 || id !== workerId()) return
    const ended = lost.filter(each => slots.wasReleased(each))
    const open = lost.filter(each => !slots.wasReleased(each))
    if (ended.length > 0) {
      const reason = `Redis lost the record that ${ended.length} requests had ended here; they are not run again`
      problem('failover')(new Error(reason))
      await commands.send(client => queue.release(client, id, ended))
    }
    const claimed = open.filter(each => !isHeldLost(each) && !isHeldOut(each))
    if (claimed.length > 0) {
      // The mark is the beat's own time, which is later than the claim that was lost and earlier than any that follows: an estimate
      // of now is ahead of Redis by the beat's way, and voided the next claim too, again and again.
      intake.ignoreClaimsOf(claimed, nowUs)
      await commands.send(client => queue.handback(client, id, 'head', claimed)).catch(problem('reconcile'))
    }
    const adopted = open.filter(each => isHeldLost(each) || isHeldOut(each))
    if (adopted.length === 0) return
    const found = await commands.send(client => queue.heldTexts(client, id, adopted))
    if (id !== workerId()) return
    adopt.answer(
      found.filter(each => isHeldLost(each.id)),
      id,
    )
    forward.send(
      found.filter(each => isHeldOut(each.id)),
      id,
    )
  }
}
