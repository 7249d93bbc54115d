import { bellKey } from '../queue/bells.ts'
import type { Connection } from '../redis/connection.ts'
import { explained } from '../redis/refusals.ts'
import { type CommonParts, type Crew, makeCrew } from './crew.ts'
import { finish, leave } from './leaving.ts'
import type { Find } from './roles/find.ts'

export interface CrewsOptions {
  common: CommonParts
  find: Find
  /** Where it waits for bells. */
  waiting: Connection
  /** Fires when what runs is waited for no longer. */
  graceOver: AbortSignal
}

/** The crews of one worker: one for each queue or shard that it serves, as these come and go. */
export class Crews {
  readonly #options: CrewsOptions
  /** In the order in which they came; that of the first queue stays. */
  readonly all: Crew[] = []
  /** Places that are being left. */
  readonly #parting = new Set<Promise<void>>()
  #isStarted = false

  constructor(options: CrewsOptions) {
    this.#options = options
  }

  get first(): Crew {
    return this.all[0]!
  }

  /** From now on that queue is served, too. */
  add(queue: string): void {
    const crew = makeCrew(this.#options.common, queue, () => this.#part(crew))
    this.all.push(crew)
    if (this.#isStarted) crew.beat.start()
  }

  start(): void {
    this.#isStarted = true
    for (const { beat } of this.all) beat.start()
  }

  /** What was a shard is none any more. One that the worker was told to serve it does not leave. */
  #part(crew: Crew): void {
    const { common, find } = this.#options
    const place = this.all.indexOf(crew)
    if (place === -1 || find.first.includes(crew.queue.name)) return
    this.all.splice(place, 1)
    find.forget(crew.queue.name)
    const parting = this.#leave(crew)
      .catch((error: Error) => common.events.emit('problem', { where: 'shards', reason: explained(error.message) }))
      .finally(() => this.#parting.delete(parting))
    this.#parting.add(parting)
  }

  async #leave(crew: Crew): Promise<void> {
    const { common, waiting, graceOver } = this.#options
    const { queue, farewell } = crew
    crew.retreat()
    await farewell.announce()
    await common.fetch.remove(crew)
    const told = await leave(crew, true, await finish(crew, true, graceOver))
    common.keepalive.forget(told.worker, queue.name)
    waiting.leave(bellKey(queue.keys))
    common.events.emit('worker:stopped', told)
  }

  /** Resolves when no place is being left any more. */
  async parted(): Promise<void> {
    await Promise.all(this.#parting)
  }
}
