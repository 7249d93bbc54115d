import { expect, it, vi } from 'vitest'
import { ConnectionLost } from '../../src/redis/failures.ts'
import type { WorkerContext } from '../../src/worker/context.ts'
import { Settle } from '../../src/worker/roles/settle.ts'

it('any number of replies may wait for Redis without a warning of Node', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  let waiting = 0
  const commands = {
    send: () => Promise.reject(new ConnectionLost('cut')),
    whenReady: (signal: AbortSignal) => {
      waiting++
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    },
  }
  const settle = new Settle({
    queue: {},
    commands,
    slots: { free: () => undefined },
    fetch: { slotsIdle: () => undefined },
    workerId: () => 'w',
    beat: { isCertain: true },
  } as unknown as WorkerContext)
  for (let n = 1; n <= 20; n++) {
    settle.add({ id: `r${n}`, workerId: 'w', hubId: 'h', reply: '{}', slot: undefined })
    // One after the other: those that are added at once wait as one.
    await vi.waitFor(() => expect(waiting).toBe(n), { interval: 1, timeout: 30_000 })
  }
  settle.stop()
  await settle.drained()
  process.off('warning', onWarning)
  expect(waiting).toBe(20)
  expect(warnings).toEqual([])
})
