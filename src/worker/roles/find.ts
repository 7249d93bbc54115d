import type { Catalogue } from '../../catalogue/catalogue.ts'
import type { Connection } from '../../redis/connection.ts'
import { everyQueue, namedQueues, type QueueEntry } from '../../settings/queues.ts'
import { isDeclared } from '../../task/any-task.ts'
import type { Task } from '../../task/task.ts'
import { sleep } from '../../wire/clock.ts'
import { forwarderOf, isQueueName, wholeQueue } from '../../wire/keys.ts'

export interface FindOptions {
  entries: readonly QueueEntry[]
  tasks: readonly Task[]
  commands: Connection
  catalogue: Catalogue
  /** It was a shard, and is none any more: a card may tell of it for a day. */
  isGone(queue: string): boolean
  /** There is a queue that this worker did not know of. */
  onFound(queue: string): void
}

/** How often it is looked for new queues: all cards are read for that. */
const everyMs = 5000

/**
 * Knows the queues that a worker serves. One that serves all there are looks for them: those that provide a task of this worker, and
 * those into which jobs were put by name.
 */
export class Find {
  readonly #options: FindOptions
  /** Those known from the start. */
  readonly first: readonly [string, ...string[]]
  /** Whether it serves further ones, as they are found. */
  readonly #isOpen: boolean
  readonly #stopping = new AbortController()
  readonly #found = new Set<string>()
  /** By queue: which tasks of this worker were declared there when it was found. */
  readonly #declared = new Map<string, Set<string>>()
  #loop: Promise<void> | undefined

  constructor(options: FindOptions) {
    this.#options = { ...options, tasks: options.tasks.filter(isDeclared) }
    this.first = namedQueues(options.entries)
    this.#isOpen = options.entries.some(({ name }) => name === everyQueue)
  }

  serves(queue: string): boolean {
    return this.first.includes(queue) || this.#found.has(queue)
  }

  /**
   * The tasks to be declared in a queue: in one that is named all of them; in one that was found those that are declared there already,
   * so that a worker of all queues does not put every task into each of them.
   */
  tasksOf(name: string): readonly Task[] {
    const queue = wholeQueue(name)
    const { entries, tasks } = this.#options
    if (entries.some(({ name }) => name === queue)) return tasks
    // Where a worker that names no queue declares what nobody has declared yet.
    const isHome = this.first.includes(queue)
    const isAnywhere = (task: string) => [...this.#declared.values()].some(there => there.has(task))
    return tasks.filter(({ name: { full } }) => this.#declared.get(queue)?.has(full) || (isHome && !isAnywhere(full)))
  }

  /** Shards of a queue that this worker serves. */
  addShards(queues: readonly string[]): void {
    for (const queue of queues) this.#add(queue)
  }

  /** It does not serve that any more. */
  forget(queue: string): void {
    this.#found.delete(queue)
  }

  /** Looks for queues now, if this worker serves all; failures are left to the next look. */
  async look(): Promise<void> {
    const { commands, catalogue } = this.#options
    if (!this.#isOpen) return
    await commands
      .send(async client => {
        const [cards, named] = await Promise.all([catalogue.allTasks(client), catalogue.namedQueues(client)])
        this.#learn(cards, named)
      })
      .catch(() => undefined)
  }

  start(): void {
    if (this.#isOpen) this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await sleep(everyMs, signal)
      if (signal.aborted) return
      await this.look()
    }
  }

  #learn(cards: readonly { task: string; queue: string }[], named: readonly string[]): void {
    const { tasks } = this.#options
    const own = new Set(tasks.map(({ name }) => name.full))
    const found = new Map<string, Set<string>>(named.map(queue => [queue, new Set()]))
    for (const { task, queue } of cards) {
      if (!own.has(task) || !isQueueName(queue)) continue
      const there = found.get(queue)
      if (there) there.add(task)
      else found.set(queue, new Set([task]))
    }
    if (this.#stopping.signal.aborted) return
    // What a worker provides in a queue stays as it is for as long as it has its name: others read it once.
    for (const [queue, there] of found) if (!this.#declared.has(queue)) this.#declared.set(queue, there)
    // What is there is not for workers.
    for (const queue of found.keys())
      if (forwarderOf(queue) === undefined && !this.#options.isGone(queue)) this.#add(queue)
  }

  #add(queue: string): void {
    if (this.serves(queue) || this.#stopping.signal.aborted) return
    this.#found.add(queue)
    this.#options.onFound(queue)
  }
}
