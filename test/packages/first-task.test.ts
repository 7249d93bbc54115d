import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeBlocks } from '../support/code-blocks.ts'
import { tooNew } from '../support/engines.mjs'
import { filesBelow, installedIn, nodeProject, npmInstall, run, usePacked } from '../support/packed.ts'

const packed = usePacked()

/** An application that only calls should hardly notice the dependency. */
const [mostPackages, mostBytes] = [40, 8_000_000]

it("README's first task works with what is packed, which is small and compiles nothing", async () => {
  const cwd = packed.project('first', nodeProject)
  await run('npm', [...npmInstall, await packed.tarball('pshub')], { cwd })
  const installed = installedIn(cwd)
  expect(Object.keys(installed).length, Object.keys(installed).join(' ')).toBeLessThanOrEqual(mostPackages)
  const files = filesBelow(join(cwd, 'node_modules'))
  expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(mostBytes)
  // npm reports an install script of a package even when it was told not to run it.
  expect(Object.keys(installed).filter(name => installed[name]!.hasInstallScript)).toEqual([])
  expect(files.filter(({ path }) => /(^|\/)binding\.gyp$/.test(path))).toEqual([])
  expect(tooNew(installed)).toEqual([])

  const inReadme = (language: string) =>
    codeBlocks()
      .filter(block => block.document === 'README.md' && block.language === language && !block.isOutline)
      .map(({ text }) => text.trim())
  const [declared, called] = inReadme('js')
  const [serve, call] = inReadme('sh')
  writeFileSync(join(cwd, 'tasks.mjs'), declared!)
  const print = '\nconsole.log(JSON.stringify(size))\n'
  writeFileSync(join(cwd, 'caller.mjs'), called!.replace('redis://127.0.0.1:6379', packed.url) + print)
  await packed.started(['sh', '-c', `exec ${serve}`], { cwd }, /worker started/)
  const env = { ...process.env, PSHUB_REDIS: packed.url }
  const answers = [
    await run('sh', ['-c', call!], { cwd, env }),
    await run(process.execPath, ['caller.mjs'], { cwd, env }),
  ].map(({ stdout }) => JSON.parse(stdout))
  expect(answers).toEqual([
    { width: 800, height: 600 },
    { width: 800, height: 600 },
  ])
}, 300_000)
