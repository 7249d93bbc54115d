import { type Dead, type Held, type KeyState, KeysState, lineTask, sorted, type TakenKey } from './keys-state.ts'

export * from './keys-state.ts'

export type JobOutcome = 'done' | 'retry' | 'pass' | 'putoff' | 'dead' | 'expired'
export type KeyAct = 'run' | 'skip' | 'delete'

const maxLosses = 3
const orphanUs = 5_000_000

/** The same, and what becomes of what was taken. */
export class KeysModel extends KeysState {
  /** `words`: what becomes of each key; undefined: it went well. */
  settleRun(worker: string, id: string, words: readonly string[] | undefined): void {
    const held = this.held.get(worker)!.get(`job:${id}`) as Held & { kind: 'run' }
    this.held.get(worker)!.delete(`job:${id}`)
    for (const [at, taken] of held.keys.entries()) {
      const state = this.key(held.task, taken.key)
      const [, kind, number] = /^(\w)(\d+)$/.exec(words?.[at] ?? '') ?? []
      if (kind === undefined) {
        state.tried = undefined
        this.leave(state)
      } else if (kind === 'd') this.#giveUp(held.task, id, at + 1, taken, Number(number))
      else {
        this.mergeBack(held.task, state, taken.payloads)
        if (kind === 'r') state.tried = { tries: (state.tried?.tries ?? 0) + 1, losses: state.tried?.losses ?? 0 }
        this.free(state, this.nowMs * 1000, number === '0' ? undefined : this.nowMs + Number(number))
      }
    }
  }

  /** A payload is dead; the others wait as if new. */
  #giveUp(task: string, id: string, number: number, { key, payloads }: TakenKey, place: number): void {
    const state = this.key(task, key)
    const given = payloads[place - 1]!
    const tries = (state.tried?.tries ?? 0) + 1
    this.dead.push({ id: `${id}-${number}`, task, key, tries, payload: given })
    state.tried = undefined
    this.mergeBack(
      task,
      state,
      payloads.filter(each => each !== given),
    )
    this.free(state, this.nowMs * 1000)
  }

  settleJob(worker: string, id: string, outcome: JobOutcome, delayMs: number): void {
    const { key, job } = this.held.get(worker)!.get(`job:${id}`) as Held & { kind: 'job' }
    this.held.get(worker)!.delete(`job:${id}`)
    const state = this.key(lineTask, key)
    const dueMs = this.nowMs + delayMs
    if (outcome === 'retry' || outcome === 'pass' || outcome === 'dead') job.tries++
    if (outcome === 'retry' || outcome === 'putoff') {
      state.line.unshift(Object.assign(job, { at: dueMs * 1000, mayWait: job.mayWait || outcome === 'retry' }))
      // Its time is looked at, whatever the clock says.
      this.free(state, 0, dueMs)
      return
    }
    if (outcome === 'pass')
      this.passed.set(job.id, { key, job: Object.assign(job, { at: dueMs * 1000, mayWait: true }), dueMs })
    if (outcome === 'dead') this.dead.push({ id, task: lineTask, key, tries: job.tries, payload: undefined })
    this.leave(state)
  }

  /** Put back as it was, and due as it was. */
  #return(held: Held): void {
    if (held.kind === 'job') {
      const state = this.key(lineTask, held.key)
      state.line.unshift(held.job)
      this.free(state, held.job.at)
      return
    }
    for (const taken of held.keys) {
      const state = this.key(held.task, taken.key)
      this.mergeBack(held.task, state, taken.payloads)
      this.free(state, held.at)
    }
  }

  giveBack(worker: string, heldIds: readonly string[]): void {
    const own = this.held.get(worker)!
    for (const heldId of heldIds) {
      this.#return(own.get(heldId)!)
      own.delete(heldId)
    }
  }

  adopt(lost: string): void {
    const own = this.held.get(lost)!
    for (const [heldId, held] of own) {
      const id = heldId.slice('job:'.length)
      if (held.kind === 'run') this.#adoptRun(id, held)
      else if (++held.job.losses < maxLosses) this.#return(held)
      else {
        this.situations.add('a job of a line lost three workers')
        this.dead.push({ id, task: lineTask, key: held.key, tries: held.job.tries + 1, payload: undefined })
        this.leave(this.key(lineTask, held.key))
      }
    }
    own.clear()
  }

  #adoptRun(id: string, { task, at, keys }: Held & { kind: 'run' }): void {
    for (const [place, taken] of keys.entries()) {
      const state = this.key(task, taken.key)
      const losses = (state.tried?.losses ?? 0) + 1
      if (losses >= maxLosses) {
        this.situations.add('a payload lost three workers')
        this.#giveUp(task, id, place + 1, taken, 1)
        continue
      }
      state.tried = { tries: state.tried?.tries ?? 0, losses }
      this.mergeBack(task, state, taken.payloads)
      this.free(state, at)
    }
  }

  ripen(): void {
    const ripe = [...this.passed].filter(([, { dueMs }]) => dueMs <= this.nowMs)
    for (const [id, { key, job }] of ripe.sort(([, a], [, b]) => a.dueMs - b.dueMs)) {
      this.passed.delete(id)
      this.enqueueLine(key, job, undefined)
    }
    for (const ofTask of this.keys.values())
      for (const state of ofTask.values())
        if (state.place?.is === 'later' && state.place.atMs <= this.nowMs)
          state.place = { is: 'due', sinceUs: state.place.atMs * 1000 }
  }

  revive(dead: Dead): void {
    this.dead.splice(this.dead.indexOf(dead), 1)
    const { id, task, key, payload } = dead
    if (!payload) {
      const job = { id, at: this.nowUs, mayWait: true, tries: 0, losses: 0 }
      this.enqueueLine(key, job, undefined)
      return
    }
    const state = this.key(task, key)
    this.mergeBack(task, state, [payload])
    state.nextMs = undefined
    if (state.place?.is === 'running') return
    state.tried = undefined
    this.#dueNow(state, this.nowUs)
  }

  #dueNow(state: KeyState, sinceUs: number): void {
    state.nextMs = undefined
    if (state.place?.is === 'running') return
    if (state.place?.is === 'later') state.place = undefined
    if (this.isEmpty(state)) state.place = undefined
    else this.stand(state, sinceUs)
  }

  /** Returns what the function answers. */
  actOn(task: string, key: string, act: KeyAct, skippedId: (found: Dead) => string): number {
    const state = this.key(task, key)
    const isRunning = state.place?.is === 'running'
    if (act === 'skip' && isRunning) return -1
    const waiting = state.line.length + state.set.size
    const count = act === 'run' ? waiting : act === 'delete' ? state.set.size : Math.min(1, waiting)
    if (act === 'delete') {
      if (state.set.size > 0 && !isRunning) state.tried = undefined
      state.set.clear()
      if (!isRunning && this.isEmpty(state)) state.place = undefined
      if (count > 0) state.nextMs = undefined
      return count
    }
    if (act === 'skip' && waiting > 0) {
      const job = state.line.shift()
      const payload = job ? undefined : sorted(state.set)[0]!
      if (payload) state.set.delete(payload[0])
      const tries = (job?.tries ?? state.tried?.tries ?? 0) + 1
      const dead = { id: job?.id ?? '', task, key, tries, payload }
      if (payload) dead.id = skippedId(dead)
      this.dead.push(dead)
      if (payload) state.tried = undefined
    }
    this.#dueNow(state, this.nowMs * 1000)
    return count
  }

  /** Somebody deleted what a worker holds: what it ran is lost, and its keys run in nobody's hands. */
  lose(worker: string): void {
    this.held.get(worker)!.clear()
  }

  /** Keys that run in nobody's hands are freed, but not at once. */
  freeOrphans(): void {
    for (const ofTask of this.keys.values())
      for (const state of ofTask.values()) {
        const { place } = state
        if (place?.is !== 'running' || this.held.get(place.worker)!.has(`job:${place.id}`)) continue
        const isYoung = place.fence > this.nowUs - orphanUs && place.fence < this.nowUs + orphanUs
        if (isYoung) continue
        this.situations.add(place.fence > this.nowUs ? 'an orphan of the future was freed' : 'an orphan was freed')
        this.leave(state)
        if (state.set.size === 0) state.tried = undefined
      }
  }
}
