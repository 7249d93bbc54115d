import { workIn } from '../../queue/work-left.ts'
import { command } from '../../redis/client.ts'
import type { Beat } from '../../wire/answers.ts'
import type { WorkerContext } from '../context.ts'

/** Of many workers so few look at a time: each one asks what all of them hold. */
const lookingAtOnce = 8

/**
 * Finds when a place that is no shard of its queue any more may be left: when this worker holds nothing there, nothing waits there, and
 * nobody else holds anything. Who died holding something is adopted from by those that stayed.
 */
export class Retreat {
  readonly #context: WorkerContext
  readonly #onEmpty: () => void
  #underWay = false

  constructor(context: WorkerContext, onEmpty: () => void) {
    this.#context = context
    this.#onEmpty = onEmpty
  }

  /** Called with each beat, with what Redis says that this worker holds. */
  onBeat({ ended }: Beat, held: readonly string[] | undefined): void {
    const { sharding, queue, slots } = this.#context
    if (!sharding.isGone(queue.name) || held?.length !== 0 || ended.length > 0 || slots.knownIds().length > 0) return
    if (this.#underWay) return
    this.#underWay = true
    this.#look()
      .catch(this.#context.problem('shards'))
      .finally(() => {
        this.#underWay = false
      })
  }

  async #look(): Promise<void> {
    const { commands, queue, isServing } = this.#context
    const isEmpty = await commands.send(async client => {
      const workers = Number(await command(client, 'zcount', queue.keys.leases, '-inf', '+inf'))
      if (Math.random() * workers >= lookingAtOnce) return false
      const { waiting, held } = await workIn(client, queue.keys)
      return waiting + held === 0
    })
    if (isEmpty && isServing()) this.#onEmpty()
  }
}
