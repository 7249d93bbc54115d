import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../../registry/server/openapi.ts'
import { readTaskCard } from '../../src/catalogue/cards.ts'
import { defineTask, Hub } from '../../src/index.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()

const tasks = () => `
import { defineTask } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
export const wipe = defineTask('wipe:1.0', { dangerous: 'Deletes\\u001b[31m everything.' }, () => 'wiped')
export const drop = defineTask('drop:1.0', { dangerous: true }, () => 'dropped')
export const look = defineTask('look:1.0', { dangerous: false }, () => 'seen')
`

describe('a task that is declared dangerous', () => {
  it('is told of by its worker, to the hub, to lists and to the document of its routes', async () => {
    const worker = cli.start(['worker', cli.module('danger.mjs', tasks())])
    await worker.shows('worker started')
    const hub = new Hub({ redis: cli.url, namespace: cli.namespace, logLevel: 'silent' })
    try {
      expect(await hub.dangerOf('wipe:1.0')).toBe('Deletes\u001b[31m everything.')
      expect([await hub.dangerOf('drop'), await hub.dangerOf('look:1')]).toEqual([true, undefined])
      await expect(hub.dangerOf('gone:1.0')).rejects.toMatchObject({ code: 'NoSuchTask' })
      await expect(hub.dangerOf('look', { queue: '?' })).rejects.toMatchObject({ code: 'InvalidArgs' })
      // Programs are not asked.
      expect(await hub.call('wipe:1.0')).toBe('wiped')
      const document = openApiDocument(await hub.overview(), { server: '/', namespace: 'x' })
      const { paths } = document as { paths: Record<string, { post: Record<string, unknown> }> }
      expect(paths['/api/call/wipe:1.0']!.post['x-pshub-dangerous']).toBe('Deletes\u001b[31m everything.')
      expect(paths['/api/call/drop:1.0']!.post.description).toMatch(/^Dangerous: it needs a confirmation\./)
      expect(Object.keys(paths['/api/call/look:1.0']!.post)).not.toContain('x-pshub-dangerous')
    } finally {
      await hub.close()
    }
    await expect(hub.dangerOf('wipe:1.0')).rejects.toMatchObject({ code: 'HubClosed' })
    expect((await cli.run(['tasks'])).out).toMatch(/TASK .*DANGEROUS[\s\S]*drop:1\.0 .* yes[\s\S]*look:1\.0 .* no/)
    expect((await cli.run(['tasks', 'wipe:1.0'])).out).toMatch(/dangerous +yes: Deletes\\u001b\[31m everything\./)
    worker.signal('SIGTERM')
    await worker.ended
  }, 60_000)

  it('is called by pshub call with --yes, or once its name was typed at a terminal', async () => {
    const worker = cli.start(['worker', cli.module('danger.mjs', tasks())])
    await worker.shows('worker started')
    const refused = await cli.run(['call', 'wipe:1.0'])
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toContain('wipe:1.0 is dangerous: Deletes\\u001b[31m everything. To run it anyway, pass --yes.')
    expect(await cli.run(['call', 'drop', '--yes'])).toEqual({ code: 0, out: '"dropped"\n', err: '' })
    const env = { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace, NO_COLOR: '1' }
    const answer = async (typed: string) => {
      const words = [process.execPath, join(root, 'dist/cli/main.js'), 'call', 'wipe:1.0']
      const terminal = openTerminal(100, 24, words, env)
      await eventually(() => terminal.output.includes('Type its name to run it: '), 30_000)
      terminal.type(typed)
      return { code: await terminal.ended, output: terminal.output }
    }
    expect(await answer('wipe:1.0\r')).toMatchObject({ code: 0, output: expect.stringContaining('"wiped"') })
    const wrong = await answer('wipe\r')
    expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('nothing was run') })
    expect(wrong.output).not.toContain('"wiped"')
  }, 90_000)

  it('is one whose card says so', () => {
    const read = (dangerous: unknown) =>
      readTaskCard(JSON.stringify({ task: 'a:1.0', queue: 'q', at: 1, dangerous })).dangerous
    expect([true, 'why', '  ', 'x'.repeat(9000)].map(read)).toEqual([true, 'why', true, 'x'.repeat(500)])
    expect([false, 1, { why: 1 }, null].map(read)).toEqual([undefined, undefined, undefined, undefined])
  })

  it('cannot be declared by something else', () => {
    for (const dangerous of ['', ' ', 'x'.repeat(501), 1, null, {}])
      expect(() => defineTask('a:1.0', { dangerous: dangerous as never }, () => 1)).toThrow(
        "a:1.0: 'dangerous' must be true or false, or say why in 1 to 500 characters.",
      )
  })
})
