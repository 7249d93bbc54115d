import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { root, useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { run, module } = cli

const sized = (name: string, width: object) =>
  defineTask(name, { args: { type: 'object', properties: { width } } } as object, () => 1)
/** Resolves with what ends it. */
const serve = async (...tasks: Parameters<typeof cli.worker>[1] & object) => {
  const worker = await cli.worker({}, tasks)
  return () => worker.stop()
}

describe('pshub types', () => {
  it('writes types of live tasks, and says later whether they hold', async () => {
    const none = await run(['types'])
    expect(none).toMatchObject({ code: 1, out: '', err: expect.stringContaining('no worker is live') })
    let stop = await serve(sized('size:1.0', { type: 'integer' }))
    const { code, out } = await run(['types'])
    expect(code).toBe(0)
    expect(out).toContain('"size:1.0": { args: Size1_0Args; result: unknown }')
    module('types.d.ts', out)
    expect(await run(['types', '--check', 'types.d.ts'])).toEqual({
      code: 0,
      out: '',
      err: 'types.d.ts is up to date with the one task.\n',
    })
    const python = await run(['types', '--python'])
    expect(python.out).toContain('class Size1_0Args(TypedDict):\n    width: NotRequired[int]')
    await stop()
    stop = await serve(sized('size:1.0', { type: 'integer', maximum: 5 }))
    const moved = await run(['types', '--check', 'types.d.ts'])
    expect(moved).toMatchObject({ code: 1, err: expect.stringMatching(/^types\.d\.ts is no longer valid/) })
    expect(moved.out).toMatch(/^KIND +TASK +WHERE +CHANGE\nbreaks +size:1\.0 +args\/width /)
    const told = JSON.parse((await run(['types', '--check', 'types.d.ts', '--json'])).out)
    expect(told).toMatchObject([{ task: 'size:1.0', kind: 'breaks', of: 'args', pointer: '/width' }])
    // A stub of Python carries the same.
    module('types.pyi', python.out)
    expect((await run(['types', '--check', 'types.pyi'])).code).toBe(1)
    await stop()
    expect((await run(['types', '--check', 'types.d.ts'])).out).toContain('The task no longer exists.')
  }, 60_000)

  it('writes what a task yields, as far as that is declared', async () => {
    const chatOf = (yields: object, chunk: unknown) =>
      defineTask('chat:1.0', { yields } as object, async function* () {
        yield chunk
      })
    const rows = defineTask('rows:1.0', {}, function* () {
      yield 1
    })
    const stop = await serve(chatOf({ type: 'string' }, 'a'), rows)
    const { out } = await run(['types'])
    expect(out).toContain('"chat:1.0": { args: unknown; result: unknown; chunk: Chat1_0Chunk }')
    expect(out).toContain('export type Chat1_0Chunk = string')
    expect(out).toContain('"rows:1.0": { args: unknown; result: unknown; chunk: unknown }')
    expect((await run(['tasks', 'chat:1.0'])).out).toMatch(/yields +yes[\s\S]*each chunk/)
    await stop()
    await serve(chatOf({ type: 'number' }, 1), rows)
    const moved = await run(['types', '--check', module('chat.d.ts', out)])
    expect(moved).toMatchObject({ code: 1, out: expect.stringMatching(/^breaks +chat:1\.0 +yields /m) })
  }, 60_000)

  it('takes tasks from a file, or from an address with a token', async () => {
    const stop = await serve(sized('size:1.0', { type: 'integer' }))
    const { out } = await run(['tasks', '--json'])
    await stop()
    module('tasks.json', out)
    const { out: written } = await run(['types', '--from', 'tasks.json'])
    expect(written).toContain('Size1_0Args')
    const server = createServer((request, response) => {
      response.statusCode = request.headers.authorization === 'Bearer secret' ? 200 : 401
      response.end(out)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`
    try {
      expect(await run(['types', '--from', address])).toMatchObject({
        code: 2,
        err: expect.stringContaining('PSHUB_TOKEN'),
      })
      expect(await run(['types', '--from', address], { env: { PSHUB_TOKEN: 'secret' } })).toMatchObject({
        out: written,
      })
    } finally {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    }
  }, 60_000)
})

describe('pshub diff', () => {
  it('compares versions that are live, and files', async () => {
    module('old.json', '{"type":"integer"}')
    module('new.json', '{"type":"number"}')
    expect(await run(['diff', 'old.json', 'new.json'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nfits /),
    })
    expect(await run(['diff', 'old.json', 'new.json', '--result'])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nbreaks /),
    })
    expect(await run(['diff', 'old.json', 'old.json'])).toEqual({
      code: 0,
      out: '',
      err: 'Their schemas are the same.\n',
    })
    module('given.json', '{"type":"integer","default":5}')
    expect(await run(['diff', 'old.json', 'given.json'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nunclear /),
    })
    expect((await run(['diff', 'old.json', 'given.json', '--strict'])).code).toBe(1)
    await serve(sized('size:1.0', { type: 'integer' }), sized('size:1.1', { type: 'string' }))
    const live = await run(['diff', 'size:1.0', 'size:1.1'])
    expect(live).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nbreaks +size:1\.1 +args\/width +Type was integer, is string/),
    })
    module('tasks.json', (await run(['tasks', '--json'])).out)
    expect((await run(['diff', 'tasks.json', 'size:1.0'])).code).toBe(0)
    expect((await run(['diff', 'tasks.json', 'tasks.json'])).code).toBe(0)
    expect(await run(['diff', 'size:1.0', 'size:2.0'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('No live worker has size:2.0'),
    })
    expect((await run(['diff', 'size:1.0'])).code).toBe(2)
  }, 60_000)
})

describe('the comparison of schemas', () => {
  it('is there for programs', () => {
    const code = `import { compareSchemas } from 'pshub/schema-diff'
      console.log(JSON.stringify(compareSchemas({ type: 'integer' }, { type: 'string' }, 'args')))`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: root, encoding: 'utf8' })
    expect(JSON.parse(stdout)[0]).toMatchObject({ kind: 'breaks', pointer: '' })
  })
})
