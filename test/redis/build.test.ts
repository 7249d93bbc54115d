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

  it.each([
    ['', '""'],
    ['x'.repeat(65), `"${'x'.repeat(65)}"`],
    ['3f2c1a\n', '"3f2c1a\\n"'],
    ['a\u0085', '"a\u0085"'],
    [7, '7'],
  ])('is a short text: %j is refused', async (build, shown) => {
    expect((await failure(redis.worker(tasks, { build: build as string }))).message).toBe(
      `option 'build' must be a text of 1 to 64 characters without control characters; it is ${shown}.`,
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
    await cli.startWorker('--build', 'v7', '--queue', 'other', ...config)
    expect((await buildOf()).sort()).toEqual(['3f2c1a', 'from the file', 'v7'])
    const lines = (await cli.run(['workers'])).out.trim().split('\n')
    expect(lines[0]).toMatch(/ BUILD +LAST SEEN /)
    expect(
      lines
        .slice(1)
        .map(line => / (3f2c1a|from the file|v7) /.exec(line)?.[1])
        .sort(),
    ).toEqual(['3f2c1a', 'from the file', 'v7'])
    const { out } = await cli.run(['workers', '--json'])
    expect(
      JSON.parse(out)
        .map(({ build }: { build: string }) => build)
        .sort(),
    ).toEqual(await buildOf().then(all => all.sort()))
  })

  it('an empty variable is none, as an image has it that was built without one', async () => {
    const worker = cli.start(['worker', './tasks.mjs'], { PSHUB_BUILD: '' })
    await worker.shows('worker started')
    expect(await buildOf()).toEqual([undefined])
  })

  it('a wrong one is refused by the name under which it was given', async () => {
    const wrong = 'must be a text of 1 to 64 characters without control characters; it is'
    const flag = await cli.run(['worker', './tasks.mjs', '--build', 'x'.repeat(65)])
    expect([flag.code, flag.err]).toEqual([2, expect.stringContaining(`--build ${wrong} "${'x'.repeat(65)}".`)])
    const variable = await cli.run(['worker', './tasks.mjs'], { env: { PSHUB_BUILD: 'a\tb' } })
    expect([variable.code, variable.err]).toEqual([2, expect.stringContaining(`PSHUB_BUILD ${wrong} "a\\tb".`)])
  })
})
