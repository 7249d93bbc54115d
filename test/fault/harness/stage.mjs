// All that a trial needs: a Redis server of its own, proxies in front of callers and workers, and their processes.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../../tools/prepare.mjs'
import { Ground } from './ground.mjs'
import { historyOf } from './history.mjs'
import { nowUs, openJournal, readJournal, readJournals } from './journal.mjs'
import { startMember } from './member.mjs'
import { seeded, seedOf } from './random.mjs'
import { watchStalls } from './stalls.mjs'

const stageName = 'stage'
const startMs = 30_000
/** Calls per second: a third of what two workers of four slots can serve, so that a backlog drains on a busy machine too. */
const defaultRate = 100

export class Stage extends Ground {
  folder = mkdtempSync(join(tmpdir(), 'pshub-fault-'))
  journal = openJournal(this.folder, stageName)
  callers = []
  workers = []
  /** Every process that was ever started. */
  members = []
  /** Identities that never said goodbye. */
  deaths = 0
  /** A planted bug was seen; what would come is not waited for. */
  isCutShort = false
  /** Violations that rows saw themselves. */
  found = []
  #loops = new Set()
  #started = 0
  #stalls = watchStalls(
    () => this.#pids(),
    nowUs,
    stall => this.journal('stalled', stall),
  )

  /** @param row what is tried, see rows/; `dist`: the pshub that workers run, `callerDist` that callers do; `workerCommand`, `callerCommand`: they are of another language */
  constructor(row, { seed, dist = join(root, 'dist'), callerDist = join(root, 'dist'), workerCommand, callerCommand }) {
    super()
    this.workerCommand = workerCommand
    this.callerCommand = callerCommand
    this.row = row
    this.seed = seedOf(seed, row.id)
    Object.assign(this, seeded(this.seed))
    this.dists = { worker: dist, caller: callerDist }
  }

  async open() {
    const { callers = 2, workers = 2, redisAway, nodes, hasFakeClock } = this.row
    const clockFile = hasFakeClock ? join(this.folder, 'redis-clock') : undefined
    await this.stand({ nodes, isAway: redisAway, clockFile })
    this.#tellClock(0)
    await this.row.prepare?.(this)
    await Promise.all(Array.from({ length: workers }, () => this.addWorker()))
    await Promise.all(Array.from({ length: callers }, () => this.addCaller()))
    // Its first call is what connects a hub, and is given a second: on a busy machine that is not always enough.
    const isConnected = async caller => (await caller.order('overview')).tasks !== undefined
    if (!redisAway) await Promise.all(this.callers.map(caller => this.until(() => isConnected(caller), startMs)))
  }

  get stalledMs() {
    return this.#stalls.totalMs
  }

  #pids() {
    const members = this.members.filter(({ isGone }) => !isGone)
    return [...members, this.server, ...this.others].flatMap(each => each?.pid ?? [])
  }

  get callerProxy() {
    return this.proxies[0]
  }

  get workerProxy() {
    return this.proxies[1]
  }

  #tellClock(aheadMs) {
    this.journal('clock', { offsetUs: Date.now() * 1000 - nowUs() + aheadMs * 1000 })
  }

  async setClock(aheadMs) {
    const noticed = await super.setClock(aheadMs)
    this.#tellClock(aheadMs)
    if (!noticed) this.found.push({ invariant: 'stage', what: "Redis' clock could not be set" })
  }

  async addWorker(extra = {}) {
    return this.#add('worker', this.workers, this.workerProxy, extra, { slots: 4, ...this.row.workerOptions })
  }

  async addCaller(extra = {}) {
    return this.#add('caller', this.callers, this.callerProxy, extra, this.row.callerOptions)
  }

  async #add(kind, list, proxy, { execArgv, env, isStrict, await: isAwaited = true }, options) {
    const name = `${kind}${++this.#started}`
    const { target, graceMs } = this.row
    const setup = {
      name,
      folder: this.folder,
      dist: this.dists[kind],
      redis: target?.(this, proxy, list.length) ?? proxy.url,
      seed: seedOf(this.seed, name),
      options,
      graceMs,
      isStrict,
      caller: this.callerCommand && { command: this.callerCommand.caller, folder: this.callerCommand.folder },
    }
    const command = kind === 'worker' ? this.workerCommand : undefined
    const member = startMember(kind, setup, { execArgv, env, command })
    list.push(member)
    this.members.push(member)
    void member.exited.then(({ code, signal }) => {
      this.journal('exit', { name, code, signal })
      if (code !== 0) this.deaths++
    })
    if (isAwaited) await this.untilEvent(name, ({ e }) => e === 'hello' || e === 'refused', startMs)
    return member
  }

  /** Kills a worker as a machine that dies does, and waits until it is gone. */
  async kill(member) {
    this.journal('kill', { name: member.name })
    member.signal('SIGKILL')
    await member.exited
    this.#forget(member)
  }

  workerById(workerId) {
    return this.workers.find(({ name }) =>
      readJournal(this.folder, name).some(({ e, worker, now }) =>
        e === 'hello' ? worker === workerId : e === 'lease-lost' && now === workerId,
      ),
    )
  }

  /** Starts a worker for each that ended by itself. */
  async replaceGone() {
    for (const member of this.workers.filter(({ isGone }) => isGone)) {
      this.#forget(member)
      await this.addWorker()
    }
  }

  /** How often calls of this kind were started; or, given a limit, how many of them more often than that. */
  starts(isIt, limit) {
    const { calls } = this.history()
    const counts = [...calls.values()].filter(isIt).map(({ runs }) => runs.length)
    if (limit !== undefined) return counts.filter(count => count > limit).length
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Takes a process that ended out of those that take orders. */
  #forget(member) {
    for (const list of [this.callers, this.workers]) {
      const at = list.indexOf(member)
      if (at >= 0) list.splice(at, 1)
    }
  }

  signal(member, name) {
    this.journal('signal', { name: member.name, signal: name })
    if (name === 'SIGSTOP') this.deaths++
    member.signal(name)
  }

  /** Does something again and again until heal() or the end of the fault. */
  repeat(everyMs, work) {
    let ended = false
    const run = async () => {
      while (!ended) {
        await work().catch(error => this.journal('repeat-failed', { message: error.message }))
        if (!ended) await sleep(everyMs)
      }
    }
    const loop = { done: run(), end: () => (ended = true) }
    this.#loops.add(loop)
  }

  async endLoops() {
    for (const loop of this.#loops) loop.end()
    await Promise.all([...this.#loops].map(({ done }) => done))
    this.#loops.clear()
  }

  load(load) {
    const perSecond = (load.perSecond ?? defaultRate) / this.callers.length
    return Promise.all(this.callers.map(caller => caller.order('load', { ...load, perSecond })))
  }

  pause() {
    return Promise.all(this.callers.map(caller => caller.order('pause')))
  }

  events() {
    return readJournals(this.folder)
  }

  history() {
    return historyOf(this.events())
  }

  /** Resolves with an event of this kind that a process wrote; rejects when it takes too long. */
  async untilEvent(name, isIt, patienceMs) {
    let found
    await this.until(() => (found = readJournal(this.folder, name).find(isIt)), patienceMs)
    if (found) return found
    throw new Error(`${name} did not write what was waited for within ${patienceMs} ms: ${this.logOf(name)}`)
  }

  /** The end of what a process said on stderr. */
  logOf(name) {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8').slice(-1000)
  }

  /** Ends everything by force; what should have ended by itself was judged before. */
  async close({ keep = false } = {}) {
    this.#stalls.stop()
    await this.endLoops()
    for (const member of this.members.filter(({ isGone }) => !isGone)) {
      member.signal('SIGKILL')
      await member.exited
    }
    await this.clear()
    if (!keep) rmSync(this.folder, { recursive: true, force: true })
  }
}
