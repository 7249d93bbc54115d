// What happens to the nodes and slots of a Cluster under load. The queue of the calls is on one node, replies and registry on any.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  handOver,
  killOwner,
  moveSlotOf,
  ownerOf,
  restart,
  stopOwner,
  untilReplaced,
  wake,
} from '../harness/clusters.mjs'
import { unreachable } from './connections.mjs'

const away = [...unreachable, 'NoWorkers', 'WorkerLost']
/** What a replica may not know of its master: on one machine, where it follows. */
const unheardMs = 100
/** For so long what had to wait is worked off. */
const calmMs = 5000

/** Three masters with a replica each. */
export const onCluster = { nodes: { masters: 3 }, target: ({ clusterUrl }) => clusterUrl }

/** Nobody has a lease where the old one ended before the new master was there. */
const failedOver = { allowed: away, unheardMs, falseDeaths: 2, linesPerSecond: 20, calmMs }

/** Where calls wait, where the replies of each hub come, and where its tasks are found. */
const loadedKeys = stage => [
  'pshub:{q}:calls',
  ...stage.events().flatMap(({ e, hub }) => (e === 'hello' && hub ? [`pshub:reply:{${hub}}`] : [])),
  'pshub:tasks',
  'pshub:workers',
]

/** Again and again, one after the other. */
export const moveLoadedSlots = stage => {
  const keys = loadedKeys(stage)
  let at = 0
  stage.repeat(100, () => moveSlotOf(stage, keys[at++ % keys.length]))
}

export const clusterRows = [
  {
    ...onCluster,
    id: 'F30-cluster',
    title: 'CLUSTER FAILOVER of the node of the queue, three times',
    async inject(stage) {
      for (let times = 0; times < 3; times++) {
        await handOver(stage)
        await stage.cluster.untilOk()
        // Sooner than two node timeouts after the last one, nobody votes for another.
        await sleep(3500)
      }
    },
    faultMs: 0,
    expect: { allowed: away },
  },
  {
    ...onCluster,
    id: 'F35',
    title: 'loaded slots moved from node to node, again and again',
    load: { timeoutMs: 4000 },
    inject: moveLoadedSlots,
    faultMs: 8000,
    expect: { promised: 'all' },
  },
  {
    ...onCluster,
    id: 'F35-slow',
    title: "the queue's slot moved, half of it on either node for 2 s",
    load: { timeoutMs: 5000 },
    async inject(stage) {
      const slowly = () => sleep(2000)
      await moveSlotOf(stage, 'pshub:{q}:calls', once(slowly))
      await sleep(1000)
      await moveSlotOf(stage, 'pshub:{q}:calls', once(slowly))
    },
    faultMs: 0,
    // As in any outage: what cannot be sent for a second is refused, and certainly not run.
    expect: { allowed: unreachable, promised: 'replies', calmMs },
  },
  {
    ...onCluster,
    id: 'F36',
    title: 'the node of the queue killed, its replica promoted by the others',
    async inject(stage) {
      stage.victim = await killOwner(stage)
      await untilReplaced(stage, stage.victim)
    },
    faultMs: 1000,
    heal: stage => restart(stage, stage.victim),
    expect: failedOver,
  },
  {
    ...onCluster,
    id: 'F36-alone',
    nodes: { masters: 3, replicas: 0 },
    title: 'the node of the queue killed that has no replica, and back on its data',
    async inject(stage) {
      stage.victim = await killOwner(stage)
    },
    faultMs: 4000,
    heal: stage => restart(stage, stage.victim),
    expect: { ...failedOver, unheardMs: undefined },
  },
  {
    ...onCluster,
    id: 'F36-minority',
    title: 'the node of the queue stands still until another one has its slots, then goes on',
    async inject(stage) {
      stage.victim = await stopOwner(stage)
      await untilReplaced(stage, stage.victim)
      await sleep(1500)
      await wake(stage, stage.victim)
    },
    faultMs: 1000,
    expect: failedOver,
  },
  {
    ...onCluster,
    id: 'F36-replicas',
    title: 'all replicas killed, the masters go on',
    async inject(stage) {
      const owner = await ownerOf(stage)
      stage.gone = stage.cluster.replicas.filter(node => node !== owner)
      for (const { server } of stage.gone) server.signal('SIGKILL')
    },
    heal: stage => Promise.all(stage.gone.map(node => restart(stage, node))),
    expect: { promised: 'all' },
  },
]

/** Of several calls the first one does something. */
const once = act => {
  let isDone = false
  return () => {
    if (isDone) return undefined
    isDone = true
    return act()
  }
}
