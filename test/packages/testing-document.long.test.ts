import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { codeBlocks } from '../support/code-blocks.ts'
import { nodeProject, npmInstall, run, usePacked } from '../support/packed.ts'

/** The code of docs/testing.md, run by the runners that it is for, in a project that has what is packed and what the page has one install. */
const packed = usePacked()
const [tasks, ...tests] = codeBlocks().filter(
  ({ document, language, isOutline }) => document === 'docs/testing.md' && language === 'js' && !isOutline,
)
const isOf = (runner: string) => tests.filter(({ text }) => text.includes(`from '${runner}'`))
let cwd: string

beforeAll(async () => {
  cwd = packed.project('testing', nodeProject)
  await run('npm', [...npmInstall, await packed.tarball('pshub')], { cwd })
  writeFileSync(join(cwd, 'tasks.mjs'), tasks!.text)
}, 180_000)

/** Of this test's own runner those of the page know nothing. */
const { NODE_OPTIONS, NODE_TEST_CONTEXT, VITEST, ...env } = process.env
const runNode = (file: string) => run(process.execPath, ['--test', '--test-reporter=tap', file], { cwd, env })

describe('docs/testing.md', () => {
  it('says what to install when that is missing', async () => {
    writeFileSync(
      join(cwd, 'lacking.mjs'),
      "import { inMemory } from 'pshub/testing'\nawait inMemory().catch(({ message }) => console.log(message))\n",
    )
    const { stdout } = await run(process.execPath, ['lacking.mjs'], { cwd })
    expect(stdout).toContain('npm install --save-dev wasmoon-lua5.1')
  })

  it('has code for two runners', () => {
    expect([isOf('node:test').length, isOf('vitest').length]).toEqual([2, 1])
    expect(isOf('node:test').length + isOf('vitest').length).toBe(tests.length)
  })

  it.each(isOf('node:test').map(({ line, text }) => [line, text] as const))(
    'runs with node:test, line %i',
    { timeout: 120_000 },
    async (line, text) => {
      await run('npm', [...npmInstall, 'wasmoon-lua5.1'], { cwd })
      writeFileSync(join(cwd, `line-${line}.test.mjs`), text)
      const { stdout } = await runNode(`line-${line}.test.mjs`)
      expect(stdout).toMatch(/^# fail 0$/m)
      expect(stdout).not.toMatch(/^# pass 0$/m)
    },
  )

  it('runs with vitest, and fails where it should', { timeout: 120_000 }, async () => {
    await run('npm', [...npmInstall, 'wasmoon-lua5.1'], { cwd })
    // Beside the vitest of this repository: nothing else of it is looked at.
    const own = join(cwd, 'with-vitest')
    rmSync(own, { recursive: true, force: true })
    mkdirSync(own)
    writeFileSync(join(own, 'tasks.mjs'), tasks!.text)
    const vitest = (text: string) => {
      writeFileSync(join(own, 'mail.test.mjs'), text)
      return run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', own], {
        cwd: own,
        env,
      })
    }
    const { text } = isOf('vitest')[0]!
    expect((await vitest(text)).stdout).toMatch(/1 passed/)
    const failed = await vitest(text.replace("stringContaining('@')", "stringContaining('%')")).catch(error => error)
    expect(failed.stdout + failed.stderr).toContain('No job of send_mail was enqueued')
  })
})
