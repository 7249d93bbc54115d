// A second Redis that follows the first, and sentinels that watch both.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { ensureServer, freePort, startServer } from '../../../tools/redis-server.mjs'

export const masterName = 'mm'
const sentinelCount = 3
const patienceMs = 10_000

const isFollowing = async replica => /master_link_status:up/.test(await replica.info('replication'))

/** Starts a replica of the stage's Redis, and waits until it has all data. */
export const addReplica = async (stage, args) => {
  const server = await startServer({ args: [...args, '--replicaof', '127.0.0.1', String(stage.port)] })
  stage.others.push(server)
  stage.replica = { server, client: stage.clientOf(server.port) }
  await stage.replica.client.connect()
  stage.atEnd(() => stage.replica.client.disconnect())
  if (!(await stage.until(() => isFollowing(stage.replica.client), patienceMs))) throw new Error('no replica')
}

/** Cuts the link between the two; it does not heal. What the master is told from now on, the replica never hears of. */
export const cutReplica = async stage => {
  const { client } = stage.replica
  await client.config('SET', 'masteruser', 'nobody', 'masterauth', 'wrong')
  await stage.redis.call('CLIENT', 'KILL', 'TYPE', 'replica')
  const isCut = async () => !(await isFollowing(client))
  if (!(await stage.until(isCut, patienceMs))) throw new Error('the replica still follows')
}

/** Makes a master of the replica, as somebody does by hand, and leads everybody there. */
export const promote = async stage => {
  await stage.replica.client.call('REPLICAOF', 'NO', 'ONE')
  await stage.moveTo(stage.replica.server)
}

/** Starts sentinels that watch the stage's Redis, and waits until they know its replica and each other. */
export const addSentinels = async stage => {
  stage.sentinels = await Promise.all(Array.from({ length: sentinelCount }, () => startSentinel(stage)))
  const [{ port }] = stage.sentinels
  const sentinel = stage.clientOf(port)
  await sentinel.connect()
  stage.atEnd(() => sentinel.disconnect())
  stage.sentinel = sentinel
  const knowsAll = async () => {
    const [master] = await sentinel.call('SENTINEL', 'MASTERS')
    const fields = Object.fromEntries(
      Array.from({ length: master.length / 2 }, (_, i) => master.slice(2 * i, 2 * i + 2)),
    )
    return Number(fields['num-slaves']) === 1 && Number(fields['num-other-sentinels']) === sentinelCount - 1
  }
  if (!(await stage.until(knowsAll, patienceMs))) throw new Error('the sentinels do not find each other')
}

const startSentinel = async stage => {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'pshub-sentinel-'))
  const conf = join(dir, 'sentinel.conf')
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${dir}`,
    `sentinel monitor ${masterName} 127.0.0.1 ${stage.port} 2`,
    `sentinel down-after-milliseconds ${masterName} 1000`,
    `sentinel failover-timeout ${masterName} 5000`,
  ]
  writeFileSync(conf, `${settings.join('\n')}\n`)
  const child = spawn(ensureServer(), [conf, '--sentinel'], { stdio: 'ignore' })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const exited = new Promise(resolve => child.once('exit', resolve))
  const sentinel = {
    port,
    async stop() {
      child.kill('SIGKILL')
      await exited
      process.off('exit', killNow)
      rmSync(dir, { recursive: true, force: true })
    },
  }
  stage.others.push(sentinel)
  const probe = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null })
  probe.on('error', () => undefined)
  await probe.ping()
  probe.disconnect()
  return sentinel
}

/** Waits until the sentinels have made a master of the replica; the clients find it themselves. */
export const untilPromoted = async stage => {
  const isPromoted = async () => {
    const [, port] = await stage.sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)
    const isMaster = /role:master/.test(await stage.replica.client.info('replication'))
    return Number(port) === stage.replica.server.port && isMaster
  }
  if (!(await stage.until(isPromoted, patienceMs))) throw new Error('the sentinels promoted nobody')
  await stage.moveTo(stage.replica.server)
}
