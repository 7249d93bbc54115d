import { eventually, type Fixture, released } from './hub-fixture.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

export const logged = (worker: WorkerProcess, msg: RegExp): Record<string, unknown>[] =>
  worker.log.filter(line => msg.test(String(line.msg)))

/** What a worker logged of its taking over from others. */
export const adoptions = (worker: WorkerProcess): Record<string, unknown>[] => logged(worker, /worker lost; took over/)

const running = new Set<WorkerProcess>()

/** A worker process with the shortest lease. */
const startIn = async (fixture: Fixture, args: string[], url: string): Promise<WorkerProcess> => {
  const worker = await startWorkerProcess(url, fixture.namespace, { args: ['--lease', '2s', ...args] })
  running.add(worker)
  fixture.onEnd(async () => {
    await released(fixture)
    worker.signal('SIGKILL')
    await worker.exited
    running.delete(worker)
    // What the killed ones left; others that live still need it.
    const [leases, bell] = ['leases', 'bell'].map(name => `${fixture.namespace}:{q}:${name}`) as [string, string]
    if (running.size === 0) await fixture.redis.del(leases, bell)
  })
  return worker
}

/** Worker processes, and what Redis knows of them. */
export const blockingWorkers = (fixture: Fixture) => ({
  start: (args: string[] = [], url = fixture.url): Promise<WorkerProcess> => startIn(fixture, args, url),

  /** One that takes no call, because its only slot is busy, but would take over what others held. */
  async startBystander(): Promise<WorkerProcess> {
    const worker = await startIn(fixture, ['--slots', '1'], fixture.url)
    const controller = new AbortController()
    const call = fixture.hub().call('once:1.0', { n: 99, ms: 60_000 }, { timeoutMs: 60_000, signal: controller.signal })
    const ended = call.catch(() => undefined)
    fixture.onEnd(async () => {
      controller.abort()
      await ended
      await eventually(() => worker.lines.some(line => line.startsWith('end 99')))
      await eventually(async () => (await fixture.redis.keys(`${fixture.namespace}:{q}:held:*`)).length === 0)
    })
    await eventually(() => worker.lines.includes('start 99'))
    return worker
  },
  /** The present identity; undefined while Redis does not know it. */
  async idOf(worker: WorkerProcess): Promise<string | undefined> {
    return (await fixture.hub().workers()).find(({ pid, live }) => live && pid === worker.pid)?.id
  },
  async keepaliveConnections(): Promise<number> {
    const clients = String(await fixture.redis.call('CLIENT', 'LIST'))
    return clients.match(/name=pshub-worker-keepalive/g)?.length ?? 0
  },
})
