import { describe, expect, it } from 'vitest'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run, startWorker } = cli

const stateOf = async (task: string) => {
  const found = JSON.parse((await run(['tasks', task, '--json'])).out)[0]
  return found && { workers: found.workers.length, retired: found.retired }
}

describe('a task whose last worker', () => {
  it('said goodbye is retired at once, and none any more when another one comes', async () => {
    const [first, second] = [await startWorker(), await startWorker()]
    for (const [worker, state] of [
      [first, { workers: 1, retired: false }],
      [second, { workers: 0, retired: true }],
    ] as const) {
      worker.signal('SIGTERM')
      await worker.ended
      expect(await stateOf('add:1.0')).toEqual(state)
    }
    expect((await run(['tasks'])).out).toMatch(/^add:1\.0 .* retired /m)
    await startWorker()
    expect(await stateOf('add:1.0')).toEqual({ workers: 1, retired: false })
  })

  it('died is missed', async () => {
    const worker = await startWorker('--lease', '2s')
    worker.signal('SIGKILL')
    await worker.ended
    await eventually(async () => (await stateOf('add:1.0'))?.workers === 0)
    expect(await stateOf('add:1.0')).toEqual({ workers: 0, retired: false })
    expect((await run(['tasks'])).out).toMatch(/^add:1\.0 .* none /m)
  })
})

describe('pshub forget', () => {
  const fields = () => cli.redis.hkeys(makeKeys(cli.namespace).tasks)

  it('takes tasks out of the list in all their queues, and calls of them fail as NoSuchTask', async () => {
    const worker = await startWorker()
    const further = await startWorker('--queue', 'other')
    for (const each of [worker, further]) {
      each.signal('SIGTERM')
      await each.ended
    }
    expect((await fields()).filter(field => field.startsWith('add:')).sort()).toEqual(['add:1.0', 'add:1.0@other'])
    expect((await run(['call', 'add:1.0', '{"a":1}'])).err).toContain('NoWorkers')
    expect(await run(['forget', 'add:1.0', 'echo:1.2'])).toEqual({
      code: 0,
      out: 'Forgotten: add:1.0, echo:1.2. A worker that has one of them declares it again.\n',
      err: '',
    })
    expect((await fields()).filter(field => /^(add|echo):/.test(field))).toEqual([])
    expect((await run(['call', 'add:1.0', '{"a":1}'])).err).toContain('NoSuchTask')
    const json = await run(['forget', 'fail:1.0', '--json'])
    expect(JSON.parse(json.out)).toEqual({ forgotten: ['fail:1.0'] })
    expect((await fields()).length).toBeGreaterThan(0)
  })

  it('forgets none where one is unknown or has a live worker, and says what to do', async () => {
    await startWorker()
    const before = (await fields()).sort()
    const live = await run(['forget', 'add:1.0'])
    expect(live).toMatchObject({ code: 2, out: '' })
    expect(live.err).toMatch(/add:1\.0 is not forgotten: a live worker would declare it again\. Stop what provides it/)
    await cli.redis.hset(makeKeys(cli.namespace).tasks, 'old:1.0', '{"task":"old:1.0","queue":"attic","at":1}')
    expect((await run(['forget', 'old:1.0', 'ehco:1.2'])).err).toMatch(/No task is known as 'ehco:1\.2'.*echo:1\.2\?/)
    expect((await run(['forget', 'nonsense'])).err).toContain("No task is known as 'nonsense'. pshub tasks lists them.")
    expect((await run(['forget'])).err).toContain('as in: pshub forget resize:1.0')
    expect((await fields()).sort()).toEqual([...before, 'old:1.0'].sort())
  })
})
