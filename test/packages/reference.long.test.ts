import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { filesBelow, run } from '../support/packed.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-reference-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const textsBelow = (start: string) =>
  Object.fromEntries(filesBelow(start).map(({ path }) => [relative(start, path), readFileSync(path, 'utf8')]))

it('docs/reference is what npm run docs writes, and that has nothing to warn of', { timeout: 180_000 }, async () => {
  await run(process.execPath, [join(root, 'tools/reference/run.mjs'), '--out', folder], { cwd: root })
  const [written, committed] = [textsBelow(folder), textsBelow(join(root, 'docs/reference'))]
  for (const method of ['call', 'gather', 'enqueue', 'chain', 'close'])
    expect(written['classes/Hub.md']).toContain(`### ${method}()`)
  const differing = Object.keys({ ...written, ...committed }).filter(path => written[path] !== committed[path])
  expect(differing, 'run npm run docs, and commit what it writes').toEqual([])
})
