// What is done to Redis while jobs run: see test/fault/rows/promotions.mjs and clusters.mjs for the same under calls.
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureFaketime } from '../../../tools/faketime.mjs'
import * as clusters from '../harness/clusters.mjs'
import * as failover from '../harness/failover.mjs'
import { serverArgs } from '../harness/ground.mjs'

/** Nothing is done to workers. */
const once = () => sleep(1000).then(() => 0)

/** Killed, and back on its file. */
export const restart = async ground => {
  await ground.stopRedis('SIGKILL')
  await sleep(100 + Math.random() * 400)
  await ground.startRedis()
}

const onCluster = { once, nodes: { masters: 3 }, urlOf: ({ clusterUrl }) => clusterUrl, everySeconds: 8 }
/** The nodes of both queues in turn. */
const keyOf = count => (count % 2 === 0 ? '{q}' : '{r}')

const withReplica = {
  once,
  prepare: ground => failover.addReplica(ground, serverArgs),
  urlOf: ({ proxies: [proxy] }) => proxy.url,
  everySeconds: 6,
}
/** Sentinels begin nothing within ten seconds of the last time. */
const withSentinels = {
  once,
  async prepare(ground) {
    await failover.addReplica(ground, serverArgs)
    await failover.addSentinels(ground)
  },
  urlOf: ({ sentinels }) => failover.sentinelUrl(sentinels.map(({ port }) => port)),
  everySeconds: 14,
}

/**
 * `strike` does it once, and resolves when all is as before but for who is the master; `count`: how often that was before. `isLossless`: Redis
 * loses nothing by it, so jobs go on coming meanwhile, and all is checked as if nothing had been.
 */
export const strikes = {
  F30: { ...withReplica, title: 'FAILOVER to the replica', isLossless: true, strike: failover.handOver },
  'F30-cluster': {
    ...onCluster,
    title: 'CLUSTER FAILOVER of the node of a queue',
    isLossless: true,
    async strike(ground, count) {
      await clusters.handOver(ground, keyOf(count))
      await ground.cluster.untilOk()
    },
  },
  F31: {
    ...withSentinels,
    title: 'master stopped (SIGSTOP) until Sentinel has another one, then going on',
    async strike(ground) {
      const old = ground.server
      old.signal('SIGSTOP')
      await failover.untilPromoted(ground)
      await sleep(1000)
      old.signal('SIGCONT')
      await sleep(500)
      await old.stop({ keepDir: true })
      await failover.startReplica(ground, serverArgs, old)
    },
  },
  'F31-killed': {
    ...withSentinels,
    title: 'master killed, its replica promoted by Sentinel',
    async strike(ground) {
      const old = ground.server
      await ground.stopRedis('SIGKILL')
      await failover.untilPromoted(ground)
      await failover.startReplica(ground, serverArgs, old)
    },
  },
  F33: {
    ...withReplica,
    title: 'replica promoted by hand, the old master made its replica',
    strike: failover.exchange,
  },
  F35: {
    ...onCluster,
    title: 'the slots of both queues moved from node to node',
    isLossless: true,
    everySeconds: 1,
    strike: (ground, count) => clusters.moveSlotOf(ground, keyOf(count)),
  },
  F36: {
    ...onCluster,
    title: 'the node of a queue killed, its replica promoted by the others',
    async strike(ground, count) {
      const victim = await clusters.killOwner(ground, keyOf(count))
      await clusters.untilReplaced(ground, victim)
      await clusters.restart(ground, victim)
      await ground.cluster.untilOk()
    },
  },
  'F36-minority': {
    ...onCluster,
    title: 'the node of a queue stands still until another one has its slots, then goes on',
    async strike(ground, count) {
      const victim = await clusters.stopOwner(ground, keyOf(count))
      await clusters.untilReplaced(ground, victim)
      await sleep(1000)
      await clusters.wake(ground, victim)
      await ground.cluster.untilOk()
    },
  },
  'F44-redis': {
    once,
    needs: ensureFaketime,
    hasFakeClock: true,
    title: "Redis' clock set forward beyond the lease, without schedules",
    isLossless: true,
    hasSchedules: false,
    everySeconds: 7,
    async strike(ground, count) {
      if (!(await ground.setClock((count + 1) * 20_000))) throw new Error("Redis' clock could not be set")
    },
  },
}
