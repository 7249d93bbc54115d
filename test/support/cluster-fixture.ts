import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { Hub, type HubOptions, type Task, type TaskMiddleware, Worker, type WorkerOptions } from '../../src/index.ts'
import { slotOf } from '../../src/redis/slots.ts'
import { startCluster } from '../../tools/redis-cluster.mjs'
import { eventually, failure } from './hub-fixture.ts'

type Cluster = Awaited<ReturnType<typeof startCluster>>
export type ClusterNode = Cluster['nodes'][number]

/** A Cluster of this file's own, and hubs and workers in a namespace of each test's own, all gone at its end. */
export interface ClusterFixture {
  readonly cluster: Cluster
  readonly url: string
  readonly namespace: string
  hub(options?: HubOptions): Hub
  worker(
    queue: string | string[],
    // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
    tasks: Task<any, any>[],
    options?: Partial<WorkerOptions>,
    around?: TaskMiddleware[],
  ): Promise<Worker>
  /** Names of queues, one for each master in their order. */
  queues(): string[]
  /** Names of all keys of this test on all masters, without the namespace. */
  keys(): Promise<string[]>
  /** For a test that ends with something in Redis on purpose. */
  allowLeftovers(): void
  onEnd(cleanUp: () => unknown): void
}

const registry = ['tasks', 'queues', 'workers', 'stats', 'taskstats', 'slow', 'failures', 'refusing']

/**
 * `spares`: the place of a master, from 0, on which the registry has none of its keys, so that calls of queues on other nodes go on without
 * it.
 */
export const useCluster = (
  options: { masters?: number; replicas?: number; args?: string[]; spares?: number } = {},
): ClusterFixture => {
  let cluster: Cluster
  let count = 0
  let leftoversAllowed = false
  let cleanUps: (() => unknown)[] = []
  beforeAll(async () => {
    cluster = await startCluster(options)
  }, 60_000)
  afterAll(() => cluster.stop())
  const placeOf = (key: string) => Math.floor(slotOf(key) / Math.ceil(16_384 / cluster.masters.length))
  const registryPlaces = (namespace: string) => registry.map(key => placeOf(`${namespace}:${key}`))
  const fixture: ClusterFixture = {
    get cluster() {
      return cluster
    },
    get url() {
      // A test before may have ended the first one for good.
      return (cluster.nodes.find(({ client }) => client.status === 'ready') ?? cluster.nodes[0]!).url
    },
    get namespace() {
      for (let n = 0; ; n++) {
        const name = n === 0 ? `c${count}` : `c${count}-${n}`
        if (options.spares === undefined || !registryPlaces(name).includes(options.spares)) return name
      }
    },
    hub(given = {}) {
      const hub = new Hub({ redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent', ...given })
      cleanUps.push(() => hub.close())
      return hub
    },
    async worker(queue, tasks, given = {}, around = []) {
      const own = { redis: fixture.url, namespace: fixture.namespace, queue, logLevel: 'silent' as const, tasks }
      const worker = new Worker({ ...own, ...given } as WorkerOptions)
      for (const each of around) worker.use(each)
      cleanUps.push(() => worker.stop({ graceMs: 500 }))
      await worker.start()
      return worker
    },
    queues() {
      return cluster.masters.map((_, at) => {
        for (let n = 0; ; n++) if (placeOf(`q${n}`) === at) return `q${n}`
      })
    },
    async keys() {
      const all = cluster.nodes.filter(({ client }) => client.status === 'ready')
      const found = await Promise.all(
        all.map(async ({ client }) => {
          if (!String(await client.info('replication')).includes('role:master')) return []
          return client.keys(`${fixture.namespace}:*`)
        }),
      )
      return found
        .flat()
        .map(key => key.slice(fixture.namespace.length + 1))
        .sort()
    },
    allowLeftovers() {
      leftoversAllowed = true
    },
    onEnd(cleanUp) {
      cleanUps.push(cleanUp)
    },
  }
  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
    cleanUps = []
    const passing = /:(cancelled|reporter|turn|ticker|fence)$/
    const leftovers = async () =>
      (await fixture.keys()).filter(key => !registry.includes(key) && !passing.test(key) && !key.startsWith('refused:'))
    const left = leftoversAllowed ? [] : await leftovers()
    leftoversAllowed = false
    count++
    expect(left, 'keys left behind').toEqual([])
  })
  return fixture
}

/** The connections that a master has from clients of that name. */
export const connectionsTo = async ({ client }: { client: Redis }, name: string): Promise<number> =>
  String(await client.call('client', 'list'))
    .split('\n')
    .filter(line => line.includes(` name=${name}`)).length

export { eventually, failure, Redis }
