import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
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
  const [declared, called] = inReadme('ts')
  const [serve] = inReadme('sh')
  // What `pshub init` has npm install, from this clone.
  for (const name of ['tsx', 'zod']) symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name))
  writeFileSync(join(cwd, 'tasks.ts'), declared!)
  const print = '\nconsole.log(JSON.stringify(size))\n'
  writeFileSync(join(cwd, 'caller.ts'), called!.replace('redis://127.0.0.1:6379', packed.url) + print)
  await packed.started(['sh', '-c', `exec ${serve}`], { cwd }, /worker started/)
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'caller.ts'], { cwd })
  expect(JSON.parse(stdout)).toEqual({ width: 800, height: 600 })
}, 300_000)
