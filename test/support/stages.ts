import { Hub, type HubOptions, type Task, Worker, type WorkerOptions } from '../../src/index.ts'
import { inMemory } from '../../src/testing/index.ts'
import { ChaosProxy } from './chaos-proxy.mjs'
import { delay } from './delay.ts'

// biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
type Tasks = Task<any, any>[]
type OptionsOfWorker = Omit<Partial<WorkerOptions>, 'redis' | 'tasks'>

/** Where the cases of the contract play: on the Redis in memory, and on a real one. */
export interface Stage {
  hub(options?: Omit<HubOptions, 'redis'>): Hub
  worker(tasks: Tasks, options?: OptionsOfWorker): Promise<{ worker: Worker; die(): void }>
  /** Lets time go by. */
  pass(ms: number): Promise<void>
  /** Redis goes away, or comes back with what was in it. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
  end(): Promise<void>
}

export const memoryStage = async (): Promise<Stage> => {
  const kit = await inMemory()
  const hubs: Hub[] = []
  return {
    hub(options = {}) {
      const hub = new Hub({ logLevel: 'silent', ...options, redis: kit.redis.target })
      hubs.push(hub)
      return hub
    },
    async worker(tasks, options = {}) {
      const started = await kit.startWorker({ queue: 'q', tasks, ...options })
      return { worker: started.worker, die: () => started.die() }
    },
    pass: ms => kit.clock.advance(ms),
    goAway: () => kit.redis.goAway(),
    comeBack: () => kit.redis.comeBack(),
    async end() {
      await Promise.all(hubs.map(hub => hub.close()))
      await kit.close()
    },
  }
}

/** Each namespace once: what a case leaves behind is none of the next one's business. */
let stages = 0

export const realStage = async (port: number): Promise<Stage> => {
  const namespace = `stage${stages++}`
  const ends: (() => Promise<unknown>)[] = []
  const proxies: ChaosProxy[] = []
  const way = async () => {
    const proxy = await ChaosProxy.start(port)
    proxies.push(proxy)
    return proxy
  }
  const cut = (proxy: ChaosProxy, isCut: boolean) => {
    proxy.refuse = isCut
    if (isCut) proxy.cut()
  }
  const shared = await way()
  const dead = new Set<ChaosProxy>()
  return {
    hub(options = {}) {
      const hub = new Hub({ logLevel: 'silent', namespace, ...options, redis: shared.url })
      ends.push(() => hub.close())
      return hub
    },
    async worker(tasks, options = {}) {
      const own = await way()
      const slots = options.slots ?? 16
      const common = { logLevel: 'silent', namespace, queue: 'q', slots, jobSlots: slots, maxBlockedMs: 0 }
      const worker = new Worker({ ...common, tasks, ...options, redis: own.url })
      await worker.start()
      ends.push(() => worker.stop({ graceMs: 0 }))
      const die = () => {
        dead.add(own)
        cut(own, true)
        void worker.stop({ graceMs: 0 })
      }
      return { worker, die }
    },
    pass: ms => delay(ms, 'time goes by on a real Redis'),
    async goAway() {
      for (const proxy of proxies) cut(proxy, true)
      await delay(100, 'until that is known on this side')
    },
    async comeBack() {
      for (const proxy of proxies) if (!dead.has(proxy)) cut(proxy, false)
      await delay(1100, 'the longest wait between two tries to connect')
    },
    async end() {
      for (const proxy of proxies) if (!dead.has(proxy)) cut(proxy, false)
      for (const end of ends.reverse()) await end()
      await Promise.all(proxies.map(proxy => proxy.stop()))
    },
  }
}
