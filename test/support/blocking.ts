import type { Fixture } from './hub-fixture.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

/** Blocks the event loop of this process. */
export const blockLoop = (ms: number): void => {
  const end = Date.now() + ms
  while (Date.now() < end);
}

export const logged = (worker: WorkerProcess, msg: RegExp): Record<string, unknown>[] =>
  worker.log.filter(line => msg.test(String(line.msg)))

/** What a worker logged of its taking over from others. */
export const adoptions = (worker: WorkerProcess): Record<string, unknown>[] => logged(worker, /a worker was lost/)

/** Worker processes with the shortest lease, and what Redis knows of them. */
export const blockingWorkers = (fixture: Fixture) => ({
  async start(args: string[] = [], url = fixture.url): Promise<WorkerProcess> {
    const worker = await startWorkerProcess(url, fixture.namespace, { args: ['--lease', '2s', ...args] })
    const [leases, bell] = ['leases', 'bell'].map(name => `${fixture.namespace}:{q}:${name}`) as [string, string]
    fixture.onEnd(async () => {
      worker.signal('SIGKILL')
      await worker.exited
      await fixture.redis.del(leases, bell)
    })
    return worker
  },
  /** The present identity; undefined while Redis does not know it. */
  async idOf(worker: WorkerProcess): Promise<string | undefined> {
    return (await fixture.hub().workers()).find(({ pid, live }) => live && pid === worker.pid)?.id
  },
  /** The worker that runs a call now. */
  async holder(): Promise<string | undefined> {
    return (await fixture.redis.keys(`${fixture.namespace}:{q}:held:*`))[0]?.split(':held:')[1]
  },
  async keepaliveConnections(): Promise<number> {
    const clients = String(await fixture.redis.call('CLIENT', 'LIST'))
    return clients.match(/name=pshub-worker-keepalive/g)?.length ?? 0
  },
})
