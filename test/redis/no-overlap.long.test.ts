import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { noOverlap } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { ensureBuild } from '../support/cli-fixture.ts'
import { useGuarded, watched } from '../support/guarded-worker.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const { forget, serve } = useGuarded(it_)

describe('noOverlap', () => {
  it('keeps the lock for longer than its lease while the handler runs, and frees it then', async () => {
    const { task, seen, end } = watched()
    await serve([task], [noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    const long = hub.call(task, { n: 1 }, { timeoutMs: 20_000 })
    await eventually(() => seen.running === 1)
    const till = async () => Number(await it_.redis.hget(makeKeys(it_.namespace).lock('alone:1.0'), 'till'))
    const first = await till()
    await eventually(async () => (await till()) > first + 1500)
    expect((await failure(hub.call(task, { n: 2, ms: 1 }))).code).toBe('Overloaded')
    end()
    expect(await long).toEqual({ n: 1, lost: false })
    expect(await hub.call(task, { n: 3, ms: 1 })).toEqual({ n: 3, lost: false })
    await forget()
  })

  it('keeps others waiting for the lease of a worker that is killed, and no longer', async () => {
    ensureBuild()
    const script = resolve(import.meta.dirname, '../support/locked-worker.mjs')
    const child = spawn(process.execPath, [script, it_.url, it_.namespace, '6000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    it_.onEnd(() => child.kill('SIGKILL'))
    const running = new Promise(done => child.stdout.once('data', done))
    const hub = it_.hub()
    await hub.enqueue('alone:1.0', { n: 0, ms: 1 }, { queue: 'q' })
    await running
    const { task, seen } = watched()
    const { putOff } = await serve([task], [noOverlap({ leaseMs: 6000 })])
    const exited = new Promise(done => child.once('exit', done))
    const killedAt = performance.now()
    child.kill('SIGKILL')
    await exited
    await hub.enqueueMany([1, 2, 3].map(n => ['alone:1.0', { n, ms: 1 }] as const))
    await eventually(() => seen.ran.length > 0, 30_000)
    const tookMs = performance.now() - killedAt
    expect(putOff.length).toBeGreaterThan(0)
    // Renewed up to a third of it before.
    expect(tookMs).toBeGreaterThan(3500)
    await eventually(() => seen.ran.length === 4, 30_000)
    expect(seen.most).toBe(1)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await forget()
  }, 90_000)
})
