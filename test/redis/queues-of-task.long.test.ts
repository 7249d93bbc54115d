import { describe, expect, it } from 'vitest'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const server = useRedis()

describe('workers that are killed', () => {
  const startProcess = (queue: string) => startWorkerProcess(server.url, server.namespace, { queue })
  const elsewhere = ({ log }: { log: Record<string, unknown>[] }) =>
    log.filter(({ msg }) => /is served in queue/.test(String(msg)))

  for (const [killed, stays] of [
    ['prod', 'default'],
    ['default', 'prod'],
  ] as const)
    it(`leave their task to the other queue: ${killed}`, async () => {
      server.allowLeftovers()
      const workers = { prod: await startProcess('prod'), default: await startProcess('default') }
      server.onEnd(() => workers[stays].signal('SIGKILL'))
      expect(elsewhere(workers.prod)).toEqual([])
      const told = new Set(elsewhere(workers.default).map(({ task }) => task))
      expect(told).toEqual(new Set(['once:1.0', 'again:1.0', 'block:1.0', 'crash:1.0', 'ticks:1.0']))
      expect(elsewhere(workers.default)[0]).toMatchObject({ level: 40, queue: 'default', first: 'prod' })
      const hub = server.hub()
      const call = () => hub.call('again:1.0', { n: 1, ms: 0 }, { timeoutMs: 1000 }) as Promise<{ pid: number }>
      expect((await eventually(() => call().catch(() => undefined)))?.pid).toBe(workers.prod.pid)
      workers[killed].signal('SIGKILL')
      await workers[killed].exited
      const errors: string[] = []
      await eventually(async () => {
        const { pid } = await call().catch(error => {
          errors.push(error.code)
          return { pid: 0 }
        })
        return (
          pid === workers[stays].pid &&
          (await server.redis.zcount(`${server.namespace}:{${killed}}:leases`, Date.now(), '+inf')) === 0
        )
      }, 30_000)
      expect((await eventually(() => call().catch(() => undefined)))?.pid).toBe(workers[stays].pid)
      expect(errors).not.toContain('NoWorkers')
    })
})
