// What trials stand on: one Redis, beside it replicas and sentinels where they are wanted, or a Cluster, and proxies in front.
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { fakeClock } from '../../../tools/faketime.mjs'
import { startServer } from '../../../tools/redis-server.mjs'
import { ChaosProxy } from '../../support/chaos-proxy.mjs'
import { addCluster, mastersOf } from './clusters.mjs'

/** Nothing ever listens there. */
const nobodysPort = 1

export const serverArgs = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--enable-debug-command', 'local']

// Each server has a listener that ends it with this process.
process.setMaxListeners(100)

export class Ground {
  /** Servers that are not the one in use: replicas, sentinels, old masters, nodes of a Cluster. */
  others = []
  proxies = []
  /** What its clock was set ahead by. */
  aheadMs = 0
  #clockFile
  #ends = []

  /**
   * @param nodes of a Cluster, `{ masters, replicas }`; without it there is one Redis @param isAway it is not started yet
   * @param clockFile where the clock that the one Redis goes by is written; without it that cannot be set
   */
  async stand({ nodes, isAway = false, proxies = 2, clockFile } = {}) {
    this.#clockFile = clockFile
    if (clockFile) writeFileSync(clockFile, '+0')
    if (nodes) await addCluster(this, nodes, serverArgs)
    else if (!isAway) await this.startRedis()
    this.proxies = await Promise.all(Array.from({ length: proxies }, () => ChaosProxy.start(this.port ?? nobodysPort)))
    this.redis ??= this.clientOf(this.port ?? nobodysPort)
    if (!isAway) await this.redis.connect()
  }

  /** Told of what happens to servers; see history.mjs. */
  journal() {}

  /** Clients of all servers that have data. */
  async masters() {
    return this.cluster ? mastersOf(this.cluster) : [this.redis]
  }

  /** A connection of one's own, past the proxies. */
  clientOf(port) {
    const client = new Redis({ port, lazyConnect: true, retryStrategy: () => 100, maxRetriesPerRequest: 0 })
    client.on('error', () => undefined)
    return client
  }

  /** On the data of the one before, where there was one. */
  async startRedis(args = []) {
    const env = this.#clockFile ? fakeClock(this.#clockFile) : {}
    const all = [...serverArgs, ...args]
    const options = { dir: this.server?.dir, args: all, env }
    const start = port => startServer({ ...options, port })
    this.server = await start(this.port).catch(error => {
      // Somebody took its port while it was away.
      if (!/Address already in use/i.test(error.message)) throw error
      return start(undefined)
    })
    this.journal('redis', { what: 'started' })
    const isMoved = this.redis && this.server.port !== this.port
    this.port = this.server.port
    if (isMoved) await this.#lookAt(this.port)
  }

  /** Sets Redis' clock, and waits until it has noticed. Returns whether it has. */
  async setClock(aheadMs) {
    writeFileSync(this.#clockFile, `${aheadMs < 0 ? '' : '+'}${aheadMs / 1000}`)
    const isSet = async () => Math.abs((await this.redis.time())[0] * 1000 - Date.now() - aheadMs) < 1500
    const isNoticed = await this.until(isSet, 5000)
    this.aheadMs = aheadMs
    return isNoticed
  }

  /** @param signal SIGKILL: at once, without a last word to the file */
  async stopRedis(signal = 'SIGKILL') {
    this.journal('redis', { what: signal })
    await this.server.stop({ keepDir: true, signal })
  }

  /** From now on everybody is led to this server, and it is looked at. */
  async moveTo(server) {
    this.others = [...this.others.filter(other => other !== server), this.server]
    this.server = server
    this.port = server.port
    await this.#lookAt(server.port)
    this.journal('redis', { what: 'moved', port: server.port })
  }

  async #lookAt(port) {
    for (const proxy of this.proxies) proxy.switchTo(port)
    this.redis.disconnect()
    this.redis = this.clientOf(port)
    await this.redis.connect()
  }

  /** For how long processes have waited for a processor so far; see stalls.mjs. */
  get stalledMs() {
    return 0
  }

  /** Whether so much time has passed, without what the machine took of it. */
  timer(ms) {
    const end = performance.now() + ms - this.stalledMs
    return () => performance.now() - this.stalledMs >= end
  }

  async until(look, patienceMs) {
    const isOver = this.timer(patienceMs)
    do {
      if (await Promise.resolve(look()).catch(() => false)) return true
      await sleep(20)
    } while (!isOver())
    return false
  }

  /** Resolves when so much time has passed, without what the machine took of it. */
  async pass(ms) {
    const isOver = this.timer(ms)
    await sleep(ms)
    while (!isOver()) await sleep(20)
  }

  /** To be done when all is over. */
  atEnd(act) {
    this.#ends.push(act)
  }

  /** Ends everything by force. */
  async clear() {
    for (const end of this.#ends) end()
    this.redis?.disconnect()
    await Promise.all(this.proxies.map(proxy => proxy.stop()))
    await this.server?.stop()
    await Promise.all(this.others.map(other => other.stop()))
  }
}
