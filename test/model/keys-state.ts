/**
 * What the functions must make of keys: PROTOCOL.md, sections 10.17 and 10.18, in plain words. One queue; a key is in one place at a time, and
 * what waits of it is a line of jobs, or a set of payloads with scores.
 */

export interface LineJob {
  id: string
  /** Since when it is due, or when it is, Redis microseconds. */
  at: number
  /** Whether `at` may be a time that it has to wait for. */
  mayWait: boolean
  tries: number
  losses: number
}

/** What is said of a merged job: its key, what it brings, and when it is due. */
export interface Payload {
  text: string
  score: number | undefined
}

export type Place =
  | { is: 'due'; sinceUs: number }
  | { is: 'later'; atMs: number }
  | { is: 'running'; fence: number; worker: string; id: string }

export interface KeyState {
  line: LineJob[]
  set: Map<string, number>
  place: Place | undefined
  tried: { tries: number; losses: number } | undefined
  /** When what came while it runs is due. */
  nextMs: number | undefined
}

export interface TakenKey {
  key: string
  tries: number
  payloads: [text: string, score: number][]
}

export type Held =
  | { kind: 'job'; task: string; key: string; job: LineJob }
  | { kind: 'run'; task: string; at: number; keys: TakenKey[] }

export interface Dead {
  id: string
  task: string
  key: string
  tries: number
  /** Undefined for a job of a line. */
  payload: [text: string, score: number] | undefined
}

export interface Rule {
  batch: number
  payloads: number
}

/** Which score counts of equal payloads, by task; the other tasks have lines. */
export const mergedTasks: Record<string, 'first' | 'last'> = { 'first:1.0': 'first', 'last:1.0': 'last' }
export const lineTask = 'line:1.0'
export const allTasks = [...Object.keys(mergedTasks), lineTask]
/** What a payload costs beside its bytes. */
const payloadBytes = 400

/** Where keys are, and how they come there and are taken. */
export class KeysState {
  nowUs = 1_900_000_000_000_000
  /** By task and key. */
  readonly keys = new Map<string, Map<string, KeyState>>(allTasks.map(task => [task, new Map()]))
  readonly held = new Map<string, Map<string, Held>>([
    ['a', new Map()],
    ['b', new Map()],
  ])
  readonly dead: Dead[] = []
  /** Jobs that let others pass, and when they are due. */
  readonly passed = new Map<string, { key: string; job: LineJob; dueMs: number }>()
  readonly situations = new Set<string>()
  /** Whether a job of this task said so ever. */
  readonly scores: Record<string, string> = {}
  lastFence = 0

  get nowMs(): number {
    return Math.floor(this.nowUs / 1000)
  }

  key(task: string, key: string): KeyState {
    const ofTask = this.keys.get(task)!
    const state = ofTask.get(key) ?? { line: [], set: new Map(), place: undefined, tried: undefined, nextMs: undefined }
    ofTask.set(key, state)
    return state
  }

  /** It can be taken, or waits for its time, unless it has a place already. */
  protected stand(state: KeyState, sinceUs: number, dueMs?: number): void {
    if (state.place) return
    state.place = dueMs === undefined ? { is: 'due', sinceUs } : { is: 'later', atMs: dueMs }
  }

  protected isEmpty({ line, set }: KeyState): boolean {
    return line.length === 0 && set.size === 0
  }

  enqueueLine(key: string, job: LineJob, dueMs: number | undefined): void {
    const state = this.key(lineTask, key)
    this.stand(state, this.nowUs, dueMs)
    state.line.push(job)
  }

  /** `place`: which one of its batch it is, from 1; those of a batch come at one time. */
  enqueueMerged(task: string, key: string, { text, score }: Payload, place: number, dueMs: number | undefined): void {
    const state = this.key(task, key)
    if (mergedTasks[task] === 'first') this.scores[task] = 'first'
    const isFirst = state.set.size === 0
    if (state.place?.is === 'running') {
      this.situations.add('a payload came while its key ran')
      if (isFirst && dueMs !== undefined) state.nextMs = dueMs
    } else this.stand(state, this.nowUs, dueMs)
    if (state.set.has(text)) this.situations.add('an equal payload came')
    if (mergedTasks[task] === 'first' && state.set.has(text)) return
    state.set.set(text, score ?? this.nowUs + place)
  }

  /** Tasks and keys that are due, those first that have been for the longest. */
  due(task?: string): { task: string; key: string; sinceUs: number; state: KeyState }[] {
    const found = [...this.keys].flatMap(([name, ofTask]) =>
      [...ofTask].flatMap(([key, state]) =>
        state.place?.is === 'due' && (task ?? name) === name
          ? [{ task: name, key, sinceUs: state.place.sinceUs, state }]
          : [],
      ),
    )
    const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
    return found.sort((a, b) => a.sinceUs - b.sinceUs || byText(a.task, b.task) || byText(a.key, b.key))
  }

  /** Since when the key was due that was taken last. */
  takenSinceUs = 0

  /** What is taken next; undefined when nothing is due. The caller says under which token, and tells the size. */
  take(worker: string, rules: Record<string, Rule>, bytes: number): ((fence: number, id: string) => Held) | undefined {
    const first = this.due()[0]
    if (!first) return undefined
    const { task, key, state } = first
    this.takenSinceUs = first.sinceUs
    if (task === lineTask) {
      const job = state.line.shift()!
      return (fence, id) => {
        state.place = { is: 'running', fence, worker, id }
        return this.hold(worker, id, { kind: 'job', task, key, job })
      }
    }
    const keys = this.takeRun(task, rules[task] ?? { batch: 1, payloads: 1 }, bytes)
    if (keys.length > 1) this.situations.add('a run of several keys')
    return (fence, id) => {
      for (const each of keys) this.key(task, each.key).place = { is: 'running', fence, worker, id }
      return this.hold(worker, id, { kind: 'run', task, at: first.sinceUs, keys })
    }
  }

  protected takeRun(task: string, rule: Rule, bytes: number): TakenKey[] {
    const keys: TakenKey[] = []
    let used = 0
    for (const { key, state } of this.due(task)) {
      if (keys.length >= rule.batch || (keys.length > 0 && used >= bytes)) break
      const isAlone = (state.tried?.losses ?? 0) > 0
      if (isAlone && keys.length > 0) {
        this.situations.add('a key that lost a worker runs alone')
        break
      }
      const payloads: TakenKey['payloads'] = []
      let total = 0
      for (const [text, score] of sorted(state.set)) {
        if (payloads.length >= rule.payloads || (payloads.length > 0 && total >= bytes - used)) break
        payloads.push([text, score])
        total += Buffer.byteLength(text) + payloadBytes
      }
      for (const [text] of payloads) state.set.delete(text)
      if (state.set.size > 0) this.situations.add('a run left payloads behind')
      used += total
      keys.push({ key, tries: state.tried?.tries ?? 0, payloads })
      state.place = undefined
      if (isAlone) break
    }
    return keys
  }

  protected hold(worker: string, id: string, held: Held): Held {
    this.held.get(worker)!.set(`job:${id}`, held)
    return held
  }

  /** A run of the key is over: it waits again, if anything of it does. */
  protected free(state: KeyState, sinceUs: number, dueMs?: number): void {
    state.place = undefined
    state.nextMs = undefined
    if (!this.isEmpty(state)) this.stand(state, sinceUs, dueMs)
  }

  /** One that ended leaves its key to what came behind it, which is due by its own time. */
  protected leave(state: KeyState): void {
    const [head] = state.line
    if (head) {
      const mustWait = head.at > this.nowUs && head.mayWait
      this.free(state, this.nowUs, mustWait ? Math.ceil(head.at / 1000) : undefined)
      return
    }
    const { nextMs } = state
    if (nextMs !== undefined) this.situations.add('what came meanwhile had a time of its own')
    this.free(state, this.nowUs, nextMs !== undefined && nextMs * 1000 > this.nowUs ? nextMs : undefined)
  }

  protected mergeBack(task: string, state: KeyState, payloads: TakenKey['payloads']): void {
    for (const [text, score] of payloads) {
      if (state.set.has(text)) this.situations.add('what came back was there again')
      if (!state.set.has(text) || mergedTasks[task] === 'first') state.set.set(text, score)
    }
  }
}

/** As a sorted set has them: by score, equal ones by their texts. */
export const sorted = (set: Map<string, number>): [string, number][] =>
  [...set].sort(([a, x], [b, y]) => x - y || Buffer.compare(Buffer.from(a), Buffer.from(b)))
