import type { Overview } from 'pshub'
import { type Deploy, deployKinds } from '../contract.ts'
import { Builds } from './builds.ts'
import { isRowText } from './row-text.ts'

/** What is remembered of what was seen, and of when something new came. */
const maxKnown = 20_000
const maxDeploys = 500
const rememberMs = 30 * 24 * 3600_000
/** Of one answer, and of one record in Redis: the latest ones. */
const maxTold = 100
const maxInRecord = 20
/** Two registries see the same within this time. */
const sameMs = 300_000

interface Seen {
  kind: Deploy['kind']
  what: string
  queue: string
  /** Tells it apart from what was there before. */
  key: string
}

/**
 * When something new was put to work: a task or a version of it, another declaration under the same version, another version of the
 * client library, another build of the users' program. It is told by what live workers say; workers that start anew with the same are no news.
 */
export class Deploys {
  readonly builds: Builds = new Builds()
  /** Those that were seen longest ago come first. */
  readonly #known = new Set<string>()
  readonly #queueOf = new Map<string, string>()
  #deploys: Deploy[] = []
  /** Nothing is new to who has just begun to look, but for tasks where those of before are known. */
  #isFirst = true
  #areTasksKnown = false

  onReading(overview: Overview): void {
    const { atMs } = overview
    const seen = seenIn(overview)
    for (const { kind, what, queue, key } of seen)
      if (this.#isNews(kind, what, key)) this.#deploys.push({ atMs, kind, what, queue })
    for (const { build, queue } of this.builds.onReading(overview, this.#isFirst))
      this.#deploys.push({ atMs, kind: 'build', what: build, queue })
    for (const { key, kind, what, queue } of seen) {
      this.#know(key)
      if (kind === 'task') this.#queueOf.set(what, queue)
    }
    if (seen.length > 0) this.#isFirst = false
    this.#forget(atMs, seen.length)
  }

  /** What was known before a restart. `areAll`: a task that is not among these was not there. */
  recall(deploys: Deploy[], tasks: readonly string[], areAll: boolean): void {
    for (const deploy of deploys.toSorted((a, b) => a.atMs - b.atMs)) {
      const isSame = ({ kind, what, queue, atMs }: Deploy) =>
        kind === deploy.kind && what === deploy.what && queue === deploy.queue && deploy.atMs - atMs < sameMs
      if (!this.#deploys.some(isSame)) this.#deploys.push(deploy)
    }
    for (const task of tasks) this.#know(keyOf('task', task))
    this.#areTasksKnown = areAll && tasks.length > 0
  }

  /** Of everything, of a queue, or of all versions of a task and its queue's workers; oldest first. */
  of(kind: 'all' | 'queue' | 'task', name: string, fromMs: number): Deploy[] {
    const queue = kind === 'task' ? this.#queueOf.get(name) : name
    const isOf = (deploy: Deploy) =>
      kind === 'all' ||
      (kind === 'task' && isOfTask(deploy) ? baseOf(deploy.what) === baseOf(name) : deploy.queue === queue)
    return this.#deploys.filter(deploy => deploy.atMs >= fromMs && isOf(deploy)).slice(-maxTold)
  }

  /** For the record of a step, and of the one before: another registry may have seen it a moment earlier, in that one. */
  inStep(step: number, stepMs: number): Deploy[] {
    const isIn = ({ atMs }: Deploy) => atMs >= (step - 1) * stepMs && atMs < (step + 1) * stepMs
    return this.#deploys.filter(isIn).slice(-maxInRecord)
  }

  #isNews(kind: Deploy['kind'], what: string, key: string): boolean {
    if (this.#known.has(key)) return false
    if (this.#isFirst) return kind === 'task' && this.#areTasksKnown
    // Of a task that is new itself its declaration is no news.
    return kind !== 'schema' || this.#known.has(keyOf('task', what))
  }

  #know(key: string): void {
    this.#known.delete(key)
    this.#known.add(key)
  }

  #forget(atMs: number, seen: number): void {
    for (const key of this.#known) {
      if (this.#known.size <= maxKnown + seen) break
      this.#known.delete(key)
    }
    for (const task of this.#queueOf.keys()) if (!this.#known.has(keyOf('task', task))) this.#queueOf.delete(task)
    this.#deploys = this.#deploys.filter(deploy => atMs - deploy.atMs <= rememberMs).slice(-maxDeploys)
  }
}

const keyOf = (kind: Deploy['kind'], what: string, more = ''): string => `${kind} ${what} ${more}`

const isOfTask = ({ kind }: Deploy): boolean => kind === 'task' || kind === 'schema'

const baseOf = (task: string): string => task.slice(0, Math.max(0, task.lastIndexOf(':')))

const seenIn = ({ tasks, workers }: Overview): Seen[] => {
  const live = tasks.filter(task => task.workers.length > 0)
  return [
    ...live.map(({ task, queue }) => ({ kind: 'task' as const, what: task, queue, key: keyOf('task', task) })),
    ...live.map(({ task, queue, digest }) => ({
      kind: 'schema' as const,
      what: task,
      queue,
      key: keyOf('schema', task, digest),
    })),
    ...workers
      .filter(worker => worker.live && worker.client !== '')
      .map(({ client, queue }) => ({
        kind: 'client' as const,
        what: client,
        queue,
        key: keyOf('client', client, queue),
      })),
  ]
}

export const deployRow = ({ atMs, kind, what, queue }: Deploy): unknown[] => ['deploy', kind, what, queue, atMs]

/** What Redis has may be anything: undefined for what is none. */
export const readDeployRow = (row: readonly unknown[]): Deploy | undefined => {
  const [mark, kind, what, queue, atMs] = row
  if (mark !== 'deploy' || row.length !== 5 || !isRowText(what) || !isRowText(queue)) return undefined
  const known = deployKinds.find(name => name === kind)
  if (!known || !Number.isSafeInteger(atMs) || (atMs as number) < 0) return undefined
  return { atMs: atMs as number, kind: known, what, queue }
}
