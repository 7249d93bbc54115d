import assert from 'node:assert/strict'

/** What the functions must make of jobs: where each is, and what is known of it. One queue's lists, and who holds what. */

export interface JobSpec {
  keep: boolean
  unique: string | undefined
  /** Its uniqueness holds until it starts. */
  isUntilStarted: boolean
  priority: 'high' | 'low' | undefined
  isLater: boolean
  batch: string | undefined
}

export interface ModelJob extends JobSpec {
  id: string
  queue: string
  /** What a record of it would say; `absent` for one that never came, or whose record was not asked for. */
  state: 'waiting' | 'scheduled' | 'running' | 'retrying' | 'done' | 'dead' | 'expired' | 'cancelled'
  tries: number
  losses: number
  isCancelled: boolean
  /** How many of its runs failed, or died with their worker, since it was enqueued or revived: no more may be counted. */
  failures: number
  /** Batches of its twins. */
  others: Set<string>
}

export interface ModelQueue {
  high: string[]
  normal: string[]
  low: string[]
  scheduled: Set<string>
  retries: Set<string>
  dead: Set<string>
  /** Held id -> job id, by worker. */
  held: Map<string, Map<string, string>>
  locks: Map<string, string>
}

export interface ModelBatch {
  queue: string
  total: number | undefined
  ended: Map<string, boolean>
  /** The job that follows, once it came. */
  following: string | undefined
}

const newQueue = (): ModelQueue => ({
  high: [],
  normal: [],
  low: [],
  scheduled: new Set(),
  retries: new Set(),
  dead: new Set(),
  held: new Map(),
  locks: new Map(),
})

export class JobsModel {
  readonly jobs = new Map<string, ModelJob>()
  readonly queues: Record<string, ModelQueue> = { q: newQueue(), r: newQueue() }
  readonly batches = new Map<string, ModelBatch>()
  /** What is to be done in other queues, by who holds it: a job that died, was revived and ended again may be told of twice. */
  readonly outs = new Map<string, Out>()
  /** Jobs that came from another queue and are remembered there. */
  readonly came = new Set<string>()
  /** Number of the last batch of jobs that was put in, by queue. */
  readonly lastNumber = new Map<string, number>()
  /** Jobs that handlers run, and where; Redis knows nothing of it. */
  readonly runs = new Map<string, { queue: string; worker: string }>()
  /** Jobs that ended in a worker, which does not know whether they were settled. */
  readonly doubted = new Map<string, { queue: string; worker: string }>()
  /** What follows several batches of one job lies in any order: its record, which may be large, tells them in none. */
  readonly together: string[][] = []
  readonly situations = new Set<string>()

  /** Returns the id of the one that is there already. */
  add(job: ModelJob): string | undefined {
    const queue = this.queues[job.queue]!
    const there = this.#hold(job)
    if (there !== undefined) {
      this.situations.add('a twin')
      if (job.batch !== undefined) {
        this.situations.add('a twin of a batch')
        this.jobs.get(there)!.others.add(job.batch)
      }
      return there
    }
    this.jobs.set(job.id, job)
    if (job.isLater) {
      job.state = 'scheduled'
      queue.scheduled.add(job.id)
    } else this.#push(job, 'tail')
    return undefined
  }

  /** Returns the id of another one that holds its uniqueness. */
  #hold({ unique, queue, id }: ModelJob): string | undefined {
    if (unique === undefined) return undefined
    const { locks } = this.queues[queue]!
    const there = locks.get(unique)
    if (there !== undefined && there !== id) return there
    locks.set(unique, id)
    return undefined
  }

  #free({ unique, queue, id }: ModelJob): void {
    const { locks } = this.queues[queue]!
    if (unique !== undefined && locks.get(unique) === id) locks.delete(unique)
  }

  /** It comes back after it had started. */
  #waitAgain(job: ModelJob): void {
    if (job.isCancelled) this.#free(job)
    else if (job.isUntilStarted && this.#hold(job) !== undefined) this.situations.add('another one waits meanwhile')
  }

  #push(job: ModelJob, side: 'head' | 'tail'): void {
    job.state = job.isCancelled ? 'cancelled' : 'waiting'
    const list = this.queues[job.queue]![job.priority ?? 'normal']
    if (side === 'head') list.unshift(job.id)
    else list.push(job.id)
  }

  ripen(id: string): void {
    const job = this.jobs.get(id)!
    const { scheduled, retries } = this.queues[job.queue]!
    if (!scheduled.delete(id)) retries.delete(id)
    this.#push(job, 'tail')
  }

  /**
   * Returns the ids that are to be run. `answered`: what was given out. What follows a batch that ended by this claim, whose last job
   * was passed over, is taken with it or by the next one: who claims has looked at the list before.
   */
  claim(queueName: string, worker: string, slots: number, answered: readonly string[]): string[] {
    const queue = this.queues[queueName]!
    const there = new Set(this.jobs.keys())
    const taken: string[] = []
    for (const list of [queue.high, queue.normal, queue.low]) {
      while (taken.length < slots && list.length > 0) {
        const next = answered[taken.length]
        const place = this.together.some(ids => ids.includes(list[0]!) && ids.includes(next!)) ? list.indexOf(next!) : 0
        if (!there.has(list[place]!) && !answered.includes(list[place]!)) break
        const job = this.jobs.get(list.splice(place, 1)[0]!)!
        if (job.keep && job.isCancelled) {
          this.situations.add('a cancelled job was passed over')
          this.#end(job, 'cancelled', worker)
          continue
        }
        job.state = 'running'
        if (job.isUntilStarted) this.#free(job)
        this.heldBy(queueName, worker).set(`job:${job.id}`, job.id)
        taken.push(job.id)
      }
    }
    return taken
  }

  /** A claim was answered. */
  start(queue: string, worker: string, ids: readonly string[]): void {
    for (const id of ids) {
      assert(!this.runs.has(id), `${id} runs twice at once`)
      this.runs.set(id, { queue, worker })
    }
  }

  #isAt(places: Map<string, { queue: string; worker: string }>, id: string, queue: string, worker: string): boolean {
    const place = places.get(id)
    return place?.queue === queue && place.worker === worker
  }

  /** A process is gone. */
  forgetProcess(queue: string, worker: string): void {
    for (const places of [this.runs, this.doubted])
      for (const id of [...places.keys()]) if (this.#isAt(places, id, queue, worker)) places.delete(id)
  }

  /** What its worker does not know of: the answer of its claim was lost. */
  unknownTo(queue: string, worker: string): string[] {
    const isKnown = (id: string) =>
      this.#isAt(this.runs, id, queue, worker) || this.#isAt(this.doubted, id, queue, worker)
    return [...this.heldBy(queue, worker).values()].filter(id => !isKnown(id))
  }

  handback(queue: string, worker: string, ids: readonly string[]): number {
    const held = this.heldBy(queue, worker)
    const returned = ids.filter(id => held.delete(`job:${id}`))
    for (const id of returned.toReversed()) {
      this.#waitAgain(this.jobs.get(id)!)
      this.#push(this.jobs.get(id)!, 'head')
    }
    return returned.length
  }

  heldBy(queue: string, worker: string): Map<string, string> {
    const { held } = this.queues[queue]!
    let own = held.get(worker)
    if (!own) {
      own = new Map()
      held.set(worker, own)
    }
    return own
  }

  settle(queue: string, worker: string, id: string, outcome: Outcome, following: ModelJob | undefined): void {
    if (!this.heldBy(queue, worker).delete(`job:${id}`)) return
    const job = this.jobs.get(id)!
    if ((outcome === 'retry' || outcome === 'putoff') && job.keep && job.isCancelled) {
      this.situations.add('a cancelled job was not tried again')
      this.#end(job, 'cancelled', worker)
    } else if (outcome === 'retry') {
      job.tries++
      job.state = 'retrying'
      this.#waitAgain(job)
      this.queues[queue]!.retries.add(id)
    } else if (outcome === 'putoff') {
      this.situations.add('a job was put off')
      job.state = 'scheduled'
      this.#waitAgain(job)
      this.queues[queue]!.scheduled.add(id)
    } else if (outcome === 'dead') this.#bury(job, worker)
    else {
      this.#end(job, outcome, worker)
      // What the end of its batch brings is enqueued before the next step: nobody is promised that order, and the functions keep it.
      if (outcome === 'done' && following) this.#follow(queue, worker, following)
    }
  }

  #follow(queue: string, worker: string, following: ModelJob): void {
    if (following.queue === queue) this.add(following)
    else {
      this.#owe({ id: following.id, worker, from: queue, to: following.queue, job: following, tally: undefined })
      this.situations.add('a step goes to another queue')
    }
  }

  #bury(job: ModelJob, worker: string): void {
    job.tries++
    this.queues[job.queue]!.dead.add(job.id)
    this.#end(job, 'dead', worker)
  }

  #end(job: ModelJob, state: ModelJob['state'], worker: string): void {
    this.#free(job)
    if (!(job.isCancelled && state === 'cancelled' && job.state === 'cancelled')) job.state = state
    const { normal } = this.queues[job.queue]!
    const before = normal.length
    for (const batch of new Set([...(job.batch === undefined ? [] : [job.batch]), ...job.others]))
      this.#tell(job, batch, state === 'done', worker)
    if (normal.length > before + 1) this.together.push(normal.slice(before))
  }

  /** What came together lies in the order that is there. */
  orderTogether(queueName: string, there: readonly string[]): void {
    const queue = this.queues[queueName]!
    for (const ids of this.together) {
      const order = there.filter(id => ids.includes(id) && queue.normal.includes(id))
      queue.normal = queue.normal.map(id => (ids.includes(id) ? (order.shift() ?? id) : id))
    }
  }

  #tell(job: ModelJob, batch: string, isDone: boolean, worker: string): void {
    const [home, id] = batch.split('/') as [string, string]
    const tally = { batch: id, job: job.id, isDone }
    if (home === job.queue) this.tally(tally)
    else {
      this.#owe({
        id: batch === job.batch ? job.id : `${job.id}-${id}`,
        worker,
        from: job.queue,
        to: home,
        job: undefined,
        tally,
      })
      this.situations.add('a batch is told from another queue')
    }
  }

  /** One of the same worker about the same job takes the place of an earlier one. */
  #owe(out: Out): void {
    this.outs.set(`${out.from} ${out.worker} ${heldIdOf(out)}`, out)
  }

  tally({ batch: id, job, isDone }: { batch: string; job: string; isDone: boolean }): void {
    const batch = this.batches.get(id)!
    if (batch.following !== undefined || batch.ended.has(job)) return
    batch.ended.set(job, isDone)
    this.complete(id)
  }

  complete(id: string): void {
    const batch = this.batches.get(id)!
    if (batch.total === undefined || batch.ended.size < batch.total || batch.following !== undefined) return
    const isWell = [...batch.ended.values()].every(isDone => isDone)
    batch.following = `${id}-${isWell ? 'then' : 'failed'}`
    this.situations.add(isWell ? 'a batch ended well' : 'a batch did not end well')
    this.add(jobOf(batch.following, batch.queue, { keep: true }))
  }

  /** All that a dead or leaving worker held; `losses`: it died. */
  passOn(queue: string, from: string, to: string | undefined): void {
    const held = this.heldBy(queue, from)
    const given = new Set<string>()
    for (const id of [...held.values()]) {
      const job = this.jobs.get(id)!
      if (to !== undefined) job.losses++
      if (to !== undefined) job.failures++
      if (to !== undefined && job.losses >= 3) {
        this.situations.add('a job was given up that killed three workers')
        this.#bury(job, to)
        given.add(id)
      } else {
        this.#waitAgain(job)
        this.#push(job, 'head')
      }
    }
    held.clear()
    if (to === undefined) return
    for (const [key, out] of [...this.outs].filter(
      ([, { worker, ...rest }]) => worker === from && rest.from === queue,
    )) {
      this.outs.delete(key)
      // Of what died in this moment and what was told of it before either may come last.
      const tally = out.tally && given.has(out.tally.job) ? { ...out.tally, isDone: undefined } : out.tally
      this.#owe({ ...out, worker: to, tally })
    }
  }

  withdraw(job: ModelJob): void {
    if (job.state === 'running') job.isCancelled = true
    else if (job.state === 'waiting' || job.state === 'scheduled' || job.state === 'retrying') {
      this.#free(job)
      job.isCancelled = true
      job.state = 'cancelled'
      const { scheduled, retries } = this.queues[job.queue]!
      if (!scheduled.delete(job.id) && !retries.delete(job.id)) return
      const batches = [...job.others, ...(job.batch === undefined ? [] : [job.batch])]
      // Only a worker can tell a batch of another queue.
      if (batches.some(batch => !batch.startsWith(`${job.queue}/`))) this.#push(job, 'tail')
      else this.#end(job, 'cancelled', '')
    }
  }

  /** False where it stays dead, because another one of its uniqueness is there. */
  revive(job: ModelJob): boolean {
    if (this.#hold(job) !== undefined) {
      this.situations.add('a dead job stays dead beside its twin')
      return false
    }
    this.queues[job.queue]!.dead.delete(job.id)
    job.tries = 0
    job.losses = 0
    job.failures = 0
    job.isCancelled = false
    this.#push(job, 'tail')
    return true
  }
}

export type Outcome = 'done' | 'retry' | 'putoff' | 'dead' | 'expired' | 'cancelled'

/** What is to be done in another queue, once something ended here: a job comes, or a batch is told. */
export interface Out {
  id: string
  worker: string
  from: string
  to: string
  job: ModelJob | undefined
  /** `isDone`: undefined where either may be told. */
  tally: { batch: string; job: string; isDone: boolean | undefined } | undefined
}

export const heldIdOf = ({ to, id }: Out): string => `out:${to}:${id}`

export const jobOf = (id: string, queue: string, spec: Partial<JobSpec> = {}): ModelJob => ({
  id,
  queue,
  keep: false,
  unique: undefined,
  isUntilStarted: false,
  priority: undefined,
  isLater: false,
  batch: undefined,
  state: 'waiting',
  tries: 0,
  losses: 0,
  isCancelled: false,
  failures: 0,
  others: new Set(),
  ...spec,
})
