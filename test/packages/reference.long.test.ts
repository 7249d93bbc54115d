import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { filesBelow, run } from '../support/packed.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-reference-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('npm run docs writes the reference, and has nothing to warn of', { timeout: 180_000 }, async () => {
  await run(process.execPath, [join(root, 'tools/reference/run.mjs'), '--out', folder], { cwd: root })
  const files = filesBelow(folder).map(({ path }) => path)
  expect(files.length).toBeGreaterThan(100)
  const hub = readFileSync(join(folder, 'classes/Hub.md'), 'utf8')
  for (const method of ['call', 'gather', 'enqueue', 'chain', 'close']) expect(hub).toContain(`### ${method}()`)
})
