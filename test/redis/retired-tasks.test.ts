import { describe, expect, it } from 'vitest'
import { defineTask, Worker } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCli } from '../support/cli-fixture.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const cli = useCli()
const add = defineTask('add:1.0', {}, () => 1)

describe('a task whose last worker', () => {
  const state = async () => {
    const [task] = await it_.hub().tasks()
    return task && { workers: task.workers.length, retired: task.retired }
  }

  it('said goodbye is retired at once, and none any more when another one comes', async () => {
    const [first, second] = [await it_.worker([add]), await it_.worker([add])]
    await first.stop()
    expect(await state()).toEqual({ workers: 1, retired: false })
    await second.stop()
    expect(await state()).toEqual({ workers: 0, retired: true })
    await it_.worker([add])
    expect(await state()).toEqual({ workers: 1, retired: false })
  })

  it('died is missed', async () => {
    await (await it_.worker([add])).stop()
    const { workers, queue } = makeKeys(it_.namespace)
    await it_.redis.hset(workers, 'gone', '{"id":"gone","queue":"q","tasks":{"add:1.0":"x"}}')
    await it_.redis.zadd(queue('q').leases, 1, 'gone')
    expect(await state()).toEqual({ workers: 0, retired: false })
    await it_.redis.del(queue('q').leases)
  })
})

describe('pshub forget', () => {
  const { run } = cli
  const fields = async () => (await cli.redis.hkeys(makeKeys(cli.namespace).tasks)).sort()
  const start = async (queue: string) => {
    const tasks = ['add:1.0', 'echo:1.2'].map(name => defineTask(name, {}, () => 1))
    const worker = new Worker({ redis: cli.url, namespace: cli.namespace, queue, logLevel: 'silent', tasks })
    it_.onEnd(() => worker.stop())
    await worker.start()
    return worker
  }

  it('takes tasks out of the list in all their queues, and calls of them fail as NoSuchTask', async () => {
    for (const worker of [await start('q'), await start('other')]) await worker.stop()
    expect(await fields()).toEqual(['add:1.0', 'add:1.0@other', 'echo:1.2', 'echo:1.2@other'])
    expect((await run(['call', 'add:1.0'])).err).toContain('NoWorkers')
    expect(await run(['forget', 'add:1.0'])).toEqual({
      code: 0,
      out: 'Deleted: add:1.0. A worker that has one of them declares it again.\n',
      err: '',
    })
    expect((await run(['call', 'add:1.0'])).err).toContain('NoSuchTask')
    expect(JSON.parse((await run(['forget', 'echo:1.2', '--json'])).out)).toEqual({ forgotten: ['echo:1.2'] })
    expect(await fields()).toEqual([])
  })

  it('forgets none where one is unknown or has a live worker, and says what to do', async () => {
    await start('q')
    await cli.redis.hset(makeKeys(cli.namespace).tasks, 'old:1.0', '{"task":"old:1.0","queue":"attic","at":1}')
    const live = await run(['forget', 'old:1.0', 'add:1.0'])
    expect(live).toMatchObject({ code: 2, out: '' })
    expect(live.err).toMatch(/add:1\.0 was not removed: a live worker would declare it again\. Stop the workers/)
    expect((await run(['forget', 'old:1.0', 'ehco:1.2'])).err).toMatch(/There is no task 'ehco:1\.2'.*echo:1\.2\?/)
    expect(await fields()).toEqual(['add:1.0', 'echo:1.2', 'old:1.0'])
  })
})
