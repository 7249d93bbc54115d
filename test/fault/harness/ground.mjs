// What trials stand on: one Redis, beside it replicas and sentinels where they are wanted, or a Cluster, and proxies in front.
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { fakeClock } from '../../../tools/faketime.mjs'
import { freePort, startServer } from '../../../tools/redis-server.mjs'
import { ChaosProxy } from '../../support/chaos-proxy.mjs'
import { addCluster, mastersOf } from './clusters.mjs'

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
    this.port = await freePort()
    if (nodes) await addCluster(this, nodes, serverArgs)
    else if (!isAway) await this.startRedis()
    this.proxies = await Promise.all(Array.from({ length: proxies }, () => ChaosProxy.start(this.port)))
    this.redis ??= this.clientOf(this.port)
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
    this.server = await startServer({ port: this.port, dir: this.server?.dir, args: all, env })
    this.journal('redis', { what: 'started' })
  }

  /** Sets Redis' clock, and waits until it has noticed. Returns whether it has. */
  async setClock(aheadMs) {
    writeFileSync(this.#clockFile, `+${aheadMs / 1000}`)
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
    for (const proxy of this.proxies) proxy.switchTo(server.port)
    this.redis.disconnect()
    this.redis = this.clientOf(server.port)
    await this.redis.connect()
    this.journal('redis', { what: 'moved', port: server.port })
  }

  async until(look, patienceMs) {
    for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(20)) {
      if (await Promise.resolve(look()).catch(() => false)) return true
    }
    return false
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
