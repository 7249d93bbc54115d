import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const tasks = [defineTask('a:1.0', {}, () => 1)]

describe('the build of a worker', () => {
  const redis = useRedis()

  it('is on its card, in the overview and in what is told of its start; without one there is none', async () => {
    const { id } = await redis.worker(tasks, { build: '3f2c1a', queue: 'images' })
    const plain = await redis.worker(tasks, { queue: 'mail' })
    const cardOf = async (worker: string | undefined) =>
      JSON.parse((await redis.redis.hget(`${redis.namespace}:workers`, worker!))!)
    expect((await cardOf(id)).build).toBe('3f2c1a')
    expect(await cardOf(plain.id)).not.toHaveProperty('build')
    const { workers } = await redis.hub().overview()
    expect(workers.map(({ queue, build }) => [queue, build])).toEqual([
      ['images', '3f2c1a'],
      ['mail', undefined],
    ])
  })

  it('is shown as what it is where a card has something else there', async () => {
    const { id } = await redis.worker(tasks, { build: '3f2c1a' })
    const key = `${redis.namespace}:workers`
    const card = JSON.parse((await redis.redis.hget(key, id!))!)
    for (const build of [{ toString: 1 }, '', 'x'.repeat(65), 'a\u0000b', '3f2c1a\ud83d', ['3f2c1a']]) {
      await redis.redis.hset(key, id!, JSON.stringify({ ...card, build }))
      const { workers, unreadable } = await redis.hub().overview()
      expect(unreadable).toEqual([])
      expect(workers, JSON.stringify(build)).toMatchObject([{ id, live: true }])
      expect(workers[0]).not.toHaveProperty('build')
    }
  })

  it('is a short text', async () => {
    const wrong = {
      '': '""',
      ['x'.repeat(65)]: `"${'x'.repeat(65)}"`,
      '3f2c1a\n': '"3f2c1a\\n"',
      'a\u0085': '"a\u0085"',
    }
    for (const [build, shown] of Object.entries(wrong))
      expect((await failure(redis.worker(tasks, { build }))).message).toBe(
        `option 'build' must be a string of 1 to 64 characters without control characters; it is ${shown}.`,
      )
  })
})

describe('on the command line', () => {
  const cli = useCli()
  const buildOf = async () =>
    Object.values(await cli.redis.hgetall(`${cli.namespace}:workers`)).map(card => JSON.parse(card).build)

  it('it is a flag, a variable, or in the settings file, and workers are listed with it', async () => {
    writeFileSync(join(cli.folder, 'settings.json'), '{"build":"from the file"}')
    const config = ['--config', 'settings.json']
    const worker = cli.start(['worker', './tasks.mjs', ...config], { PSHUB_BUILD: '3f2c1a' })
    await worker.shows('worker started')
    await worker.shows('"build":"3f2c1a"')
    expect(await buildOf()).toEqual(['3f2c1a'])
    await cli.startWorker(...config)
    // An empty variable is none, as an image has it that was built without one.
    const without = cli.start(['worker', './tasks.mjs'], { PSHUB_BUILD: '' })
    await without.shows('worker started')
    expect((await buildOf()).sort()).toEqual(['3f2c1a', 'from the file', undefined])
    const { out } = await cli.run(['workers'])
    expect(out).toMatch(/ BUILD +LAST SEEN /)
    expect(out.match(/ (3f2c1a|from the file) /g)!.sort()).toEqual([' 3f2c1a ', ' from the file '])
  })
})
