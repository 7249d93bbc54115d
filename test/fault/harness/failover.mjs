// A second Redis that follows the first, and sentinels that watch both.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { ensureServer, onFreePort, startServer } from '../../../tools/redis-server.mjs'

export const masterName = 'mm'
const sentinelCount = 3
const patienceMs = 10_000

const isFollowing = async replica => /master_link_status:up/.test(await replica.info('replication'))

/** Where sentinels and replicas find the master: behind a proxy, where the row has one there. */
const masterPort = ({ front, port }) => front?.port ?? port

/** Starts a replica of the stage's Redis, and waits until it has all data. */
export const addReplica = async (stage, args) => {
  const server = await startServer({ args: [...args, '--replicaof', '127.0.0.1', String(masterPort(stage))] })
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
  await lead(stage)
}

const lead = async stage => {
  await stage.moveTo(stage.replica.server)
  stage.journal('promoted')
}

/** The same while the master lives, which follows the other one then. What it is told between the two steps is lost. */
export const exchange = async stage => {
  const old = stage.server
  stage.journal('unheard', { from: true })
  await stage.replica.client.call('REPLICAOF', 'NO', 'ONE')
  await stage.redis.call('REPLICAOF', '127.0.0.1', String(stage.replica.server.port))
  stage.journal('unheard', { from: false })
  await lead(stage)
  await follow(stage, old)
}

/** As FAILOVER does it: the master waits until the replica has everything, so nothing is lost. */
export const handOver = async stage => {
  const old = stage.server
  await stage.redis.call('FAILOVER')
  const isMaster = async () => (await stage.replica.client.role())[0] === 'master'
  if (!(await stage.until(isMaster, patienceMs))) throw new Error('FAILOVER did not promote the replica')
  await lead(stage)
  await follow(stage, old)
}

/** The old master is the replica from now on. */
const follow = async (stage, server) => {
  stage.replica.client.disconnect()
  stage.replica = { server, client: stage.clientOf(server.port) }
  await stage.replica.client.connect()
  if (!(await stage.until(() => isFollowing(stage.replica.client), patienceMs))) throw new Error('it does not follow')
}

/** Ends the replica; `startReplica` has it back on its data. */
export const stopReplica = ({ replica }) => replica.server.stop({ keepDir: true })

/** @param gone which is started again: the replica, or a master that another one was promoted for */
export const startReplica = async (stage, args, gone = stage.replica.server) => {
  const { port, dir } = gone
  const server = await startServer({ port, dir, args: [...args, '--replicaof', '127.0.0.1', String(stage.port)] })
  stage.others = [...stage.others.filter(other => other !== gone), server]
  await follow(stage, server)
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

const startSentinel = stage => onFreePort(port => startSentinelOn(port, stage))

const startSentinelOn = async (port, stage) => {
  const dir = mkdtempSync(join(tmpdir(), 'pshub-sentinel-'))
  const conf = join(dir, 'sentinel.conf')
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${dir}`,
    `sentinel monitor ${masterName} 127.0.0.1 ${masterPort(stage)} 2`,
    `sentinel down-after-milliseconds ${masterName} 1000`,
    `sentinel failover-timeout ${masterName} 5000`,
  ]
  writeFileSync(conf, `${settings.join('\n')}\n`)
  const child = spawn(ensureServer(), [conf, '--sentinel'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  let log = ''
  child.stdout.on('data', chunk => {
    log = (log + chunk).slice(-10_000)
  })
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
  const probe = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null })
  probe.on('error', () => undefined)
  const failed = exited.then(() => {
    throw new Error(`a sentinel ended:\n${log}`)
  })
  // It ends again, when nobody waits here any more.
  failed.catch(() => undefined)
  await Promise.race([probe.ping(), failed]).finally(() => probe.disconnect())
  stage.others.push(sentinel)
  return sentinel
}

/** How clients are told of them. */
export const sentinelUrl = ports => `redis+sentinel://${ports.map(port => `127.0.0.1:${port}`).join(',')}/${masterName}`

/** Waits until the sentinels have made a master of the replica; the clients find it themselves. `but`: who is cut off from it. */
export const untilPromoted = async (stage, but = []) => {
  const isPromoted = async () => {
    const [, port] = await stage.sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)
    const isMaster = /role:master/.test(await stage.replica.client.info('replication'))
    return Number(port) === stage.replica.server.port && isMaster
  }
  if (!(await stage.until(isPromoted, patienceMs))) throw new Error('the sentinels promoted nobody')
  stage.journal('promoted', { but })
  await stage.moveTo(stage.replica.server)
}
