import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Phases } from '../../src/index.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const server = useRedis()

/** Returns its end, and how far its clock was off. */
const start = async (slots: number, env: Record<string, string> = {}) => {
  const worker = await startWorkerProcess(server.url, server.namespace, { slots, env })
  // Its log is written by that clock.
  const offMs = Number(worker.log[0]!.time) - Date.now()
  const stop = async () => {
    worker.signal('SIGTERM')
    await worker.exited
    return offMs
  }
  server.onEnd(stop)
  return stop
}

const shift = resolve(import.meta.dirname, '../fault/harness/shift-clock.mjs')
const minutes = 60_000
const shiftedBy = (ms: number) => ({
  NODE_OPTIONS: `--import=${shift}`,
  PSHUB_SHIFT_MS: String(ms),
  PSHUB_SHIFT_AFTER_MS: '0',
})

/** All waits of calls, in milliseconds, and how far the clocks are off. */
const measure = async (worker: Record<string, string>, caller: Record<string, string>) => {
  const stop = await start(1, worker)
  const env = { ...process.env, PSHUB_REDIS: server.url, PSHUB_NAMESPACE: server.namespace, ...caller }
  const script = resolve(import.meta.dirname, '../support/waits-process.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env })
  const workerOffMs = await stop()
  const { waits, now } = JSON.parse(stdout) as { waits: (Phases & { ms: number })[]; now: number }
  expect(waits).toHaveLength(30)
  const all = waits.flatMap(({ backlog, queue, exec, ms }) => [backlog / 1000, queue / 1000, exec / 1000, ms])
  return { all, offMs: now - Date.now(), workerOffMs }
}

describe('a clock that is off by ten minutes', () => {
  it("is in no wait, be it ahead or behind, the worker's or the caller's", { timeout: 120_000 }, async () => {
    for (const ms of [10 * minutes, -10 * minutes]) {
      const ofWorker = await measure(shiftedBy(ms), {})
      const ofCaller = await measure({}, shiftedBy(ms))
      for (const off of [ofCaller.offMs, ofWorker.workerOffMs]) expect(Math.round(Math.abs(off - ms) / minutes)).toBe(0)
      // No call takes longer than its time, which is less than a minute.
      for (const { all } of [ofWorker, ofCaller])
        for (const wait of all) expect(wait >= 0 && wait < minutes, `${wait} ms, off by ${ms} ms`).toBe(true)
    }
  })
})
