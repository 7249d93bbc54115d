// A caller of one language and a worker of another on one Redis, in a namespace of their own.
import { equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { startMember } from './language.mjs'

let pairs = 0

export class Pair {
  namespace = `c${++pairs}`
  queue = 'q'
  #members = []
  #proxies = []
  #fresh = []
  #shared = new Map()

  /** @param stage `{ server, redis, folder }` */
  constructor(stage, callerLanguage, workerLanguage) {
    this.stage = stage
    this.redis = stage.redis
    this.languages = { caller: callerLanguage, worker: workerLanguage }
    this.journalPath = join(stage.folder, `${this.namespace}.journal`)
  }

  /** Numbers beyond 2^53 survive where both languages keep them. */
  get exactIntegers() {
    return this.languages.caller.exactIntegers && this.languages.worker.exactIntegers
  }

  key(name) {
    return `${this.namespace}:{${this.queue}}:${name}`
  }

  async open({ caller = {}, worker = {} } = {}) {
    await this.startWorker(worker)
    await this.startCaller(caller)
    return this
  }

  /** What several checks use, made when the first of them asks: to start a process costs more than most checks. */
  shared(name, make) {
    if (!this.#shared.has(name)) this.#shared.set(name, make())
    return this.#shared.get(name)
  }

  /** A worker of the caller's language, for another queue. */
  otherWorker(queue) {
    const options = { language: this.languages.caller, env: { PSHUB_QUEUE: queue } }
    return this.shared(`worker of ${queue}`, () => this.startWorker(options))
  }

  /** A caller of the worker's language. */
  otherCaller() {
    return this.shared('caller', () => this.startCaller({ language: this.languages.worker }))
  }

  /** Two workers and a caller with keys of their own. A check may kill one of the two. */
  async twoWorkers() {
    const two = await this.shared('two workers', () => this.fresh({}))
    await two.startWorker()
    return two
  }

  /** A caller and a worker with keys of their own, each behind a proxy through which all passes. */
  async proxied() {
    const cut = await this.shared('proxied', async () => {
      const made = await this.fresh()
      made.callers = await made.proxy()
      made.workers = await made.proxy()
      return made.open({ caller: { url: made.callers.url }, worker: { url: made.workers.url } })
    })
    for (const proxy of [cut.callers, cut.workers]) proxy.heal()
    equal((await cut.call('add:1.0', { x: 1, y: 1 }, { timeout_ms: 60_000 })).result, 2)
    await eventually(async () => (await cut.held()) === 0, 'the end of what is held')
    return cut
  }

  async startCaller({ url = this.stage.server.url, env = {}, language = this.languages.caller } = {}) {
    const { caller, folder } = language
    const started = await this.#start(caller, folder, { PSHUB_REDIS: url, PSHUB_NAME: 'conformance', ...env })
    if (language === this.languages.caller) this.caller = started
    return started
  }

  async startWorker({ url = this.stage.server.url, env = {}, language = this.languages.worker } = {}) {
    const { worker, folder } = language
    const settings = { PSHUB_QUEUE: this.queue, PSHUB_SLOTS: '4', PSHUB_LEASE_MS: '2000', PSHUB_BUILD: '3f2c1a' }
    const journal = { PSHUB_CONFORMANCE_JOURNAL: this.journalPath }
    const started = await this.#start(worker, folder, { PSHUB_REDIS: url, ...settings, ...journal, ...env })
    if (language === this.languages.worker) this.worker = started
    return started
  }

  async #start(command, folder, env) {
    const member = await startMember(command, folder, { PSHUB_NAMESPACE: this.namespace, ...env })
    this.#members.push(member)
    return member
  }

  /** The same languages, with processes, keys and settings of their own. */
  async fresh(settings) {
    const pair = new Pair(this.stage, this.languages.caller, this.languages.worker)
    this.#fresh.push(pair)
    return settings === undefined ? pair : pair.open(settings)
  }

  async proxy() {
    const proxy = await ChaosProxy.start(this.stage.server.port)
    this.#proxies.push(proxy)
    return proxy
  }

  /** Starts a call; `id` is for a cancel, `outcome` resolves with `{ ok, result, error, ms }`, values decoded. */
  start(task, args, options = {}) {
    const { id, answer } = this.caller.order('call', { task, args: JSON.stringify(args), ...options })
    const outcome = answer.then(decoded)
    outcome.catch(() => undefined)
    return { id, outcome }
  }

  call(task, args = {}, options = {}) {
    return this.start(task, args, options).outcome
  }

  /**
   * Reads a stream: its outcome without a result, with `chunks` and `progress` as JSON texts of what came. `take`: it leaves after so many
   * chunks; `progress`: it wants to know how far the handler is; `timeoutMs`.
   */
  stream(task, args, { take, progress = false, timeoutMs } = {}) {
    const order = { task, args: JSON.stringify(args), take, progress, timeout_ms: timeoutMs }
    return this.caller.order('stream', order).answer
  }

  /** The same with JSON text, which numbers may be in that JavaScript cannot hold; the result is text too. */
  async callText(task, args, options = {}) {
    return this.caller.order('call', { task, args, ...options }).answer
  }

  async batch(task, list, options = {}) {
    const args = list.map(each => JSON.stringify(each))
    const { outcomes } = await this.caller.order('batch', { task, args, ...options }).answer
    return outcomes.map(decoded)
  }

  /** What a caller does with jobs; the answer with its result, if there is one, decoded. Throws nothing but what the process does. */
  async jobs(act, input = {}, caller = this.caller) {
    const answer = await caller.order('jobs', { do: act, ...input }).answer
    return answer.result === undefined ? answer : decoded(answer)
  }

  async cancel(call) {
    await this.caller.order('cancel', { call }).answer
  }

  async close() {
    await this.caller.order('close').answer
  }

  /** What handlers noted, in that order. */
  journal() {
    try {
      return readFileSync(this.journalPath, 'utf8').split('\n').slice(0, -1)
    } catch {
      return []
    }
  }

  /** How often a handler was started with this token. */
  starts(token) {
    return this.journal().filter(line => line === token).length
  }

  /** Requests that workers hold, over all of them. */
  async held() {
    return (await this.heldTexts()).length
  }

  async heldTexts() {
    return (await this.#holders()).flatMap(({ texts }) => texts)
  }

  /** What each worker holds. */
  async #holders() {
    const keys = await this.redis.keys(`${this.key('held:')}*`)
    const held = await Promise.all(
      keys.map(async key => ({ id: key.slice(this.key('held:').length), texts: await this.redis.hvals(key) })),
    )
    return held.filter(({ texts }) => texts.length > 0)
  }

  waiting() {
    return this.redis.llen(this.key('calls'))
  }

  /** The process that holds something. */
  async holder() {
    const [held] = await this.#holders()
    if (!held) return undefined
    const card = JSON.parse(await this.redis.hget(`${this.namespace}:workers`, held.id))
    return this.#members.find(({ pid }) => pid === card?.pid)
  }

  async workerCards() {
    return Object.values(await this.redis.hgetall(`${this.namespace}:workers`)).map(text => JSON.parse(text))
  }

  /** Puts a message into the list as somebody without any library does. */
  async pushByHand(text) {
    await this.redis.rpush(this.key('calls'), text)
    await this.redis.rpush(this.key('bell'), '1')
  }

  /** The next reply on the list of a made-up hub. */
  async replyTo(hubId, seconds = 60) {
    const client = this.redis.duplicate()
    try {
      const popped = await client.blpop(`${this.namespace}:reply:{${hubId}}`, seconds)
      return popped ? JSON.parse(popped[1]) : undefined
    } finally {
      client.disconnect()
    }
  }

  /** Ends all processes in good order; what they leave behind in Redis is returned. */
  async end() {
    for (const pair of this.#fresh) await pair.end()
    for (const member of this.#members) if (!member.isGone) await member.end()
    for (const proxy of this.#proxies) await proxy.stop()
    const left = []
    for (const key of await this.redis.keys(`${this.namespace}:*`)) {
      // Cards of tasks and names of queues outlive their workers, and what has an end of life goes by itself.
      const stays = ['tasks', 'queues'].some(name => key === `${this.namespace}:${name}`)
      if (!stays && (await this.redis.pttl(key)) === -1) left.push(key)
    }
    return left
  }

  async kill() {
    for (const pair of this.#fresh) await pair.kill()
    for (const member of this.#members) if (!member.isGone) await member.kill()
    for (const proxy of this.#proxies) await proxy.stop().catch(() => undefined)
  }
}

const decoded = ({ result, ...outcome }) => ({
  ...outcome,
  ...(outcome.ok ? { result: JSON.parse(result) } : {}),
})

/** Resolves with what `look` finds once that is something. */
export const eventually = async (look, what, patienceMs = 60_000) => {
  for (const end = performance.now() + patienceMs; ; await sleep(10)) {
    const found = await look()
    if (found) return found
    if (performance.now() > end) throw new Error(`${what} did not happen within ${patienceMs} ms`)
  }
}

const beatMs = 1000
const waitMs = 2000

/** Pauses the queue as PROTOCOL.md says anybody may; resolves when its worker, whose card this is, takes nothing any more. */
export const pause = async (pair, card) => {
  const [seconds, us] = await pair.redis.time()
  const pausedMs = Number(seconds) * 1000 + Math.floor(Number(us) / 1000)
  await pair.redis.set(pair.key('paused'), pausedMs, 'NX')
  // A worker that cannot end its wait for the bell takes what comes for as long as that lasts.
  await eventually(async () => (await seen(pair, card)) > pausedMs + beatMs + waitMs, 'the end of its wait')
}

/** Redis' clock at a worker's last beat. */
export const seen = async (pair, { id }) =>
  JSON.parse((await pair.redis.hget(`${pair.namespace}:stats`, id)) ?? '{}').seen
