import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { otherNode } from '../../tools/other-nodes.mjs'
import { oldestNode } from '../support/engines.mjs'
import { filesBelow, nodePrograms, nodeProject, run, usePacked } from '../support/packed.ts'

/** What other programs than npm, and the oldest Node, make of the npm packages. Part of `npm run test:all`: each is fetched. */
const packed = usePacked()

const managers: [string, string, string, Record<string, string>][] = [
  ['pnpm', 'pnpm@10', 'pnpm', {}],
  ['yarn 1', 'yarn@1', 'yarn', {}],
  // With the empty lock file it takes this folder for a project, whatever lies above.
  ['yarn 4', '@yarnpkg/cli-dist@4', 'yarn', { '.yarnrc.yml': 'nodeLinker: node-modules\n', 'yarn.lock': '' }],
]

describe.each(managers)('what %s installs', (name, version, program, files) => {
  it('is a pshub that works, without anything that is compiled', { timeout: 300_000 }, async () => {
    const cwd = packed.project(name, { ...nodeProject, ...files })
    const add = ['exec', '--yes', `--package=${version}`, '--', program, 'add', await packed.tarball('pshub')]
    await run('npm', add, { cwd })
    const installed = filesBelow(join(cwd, 'node_modules')).map(({ path }) => path)
    expect(installed.filter(path => /binding\.gyp$|\/unix-dgram\//.test(path))).toEqual([])
    const answer = await packed.serveAndCall(nodePrograms(cwd, program + version.replace(/\W/g, '')))
    expect(answer).toContain('/node_modules/pshub/dist/index.js')
  })
})

it('the oldest Node that is promised installs both packages, also where engines are held strictly', {
  timeout: 300_000,
}, async ({ skip }) => {
  const { path, reason } = otherNode(oldestNode.replace(/\.0$/, ''))
  if (path === undefined) return skip(reason)
  const cwd = packed.project('oldest', nodeProject)
  const { stdout: npm } = await run('npm', ['root', '--global'])
  const program = join(npm.trim(), 'npm/bin/npm-cli.js')
  expect(existsSync(program)).toBe(true)
  const tarballs = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
  await run(path, [program, 'install', '--engine-strict', '--no-audit', '--no-fund', ...tarballs], { cwd })
  const pshub = join(cwd, 'node_modules/pshub')
  const { bin, version } = JSON.parse(readFileSync(join(pshub, 'package.json'), 'utf8'))
  expect((await run(path, [join(pshub, bin.pshub), '--version'], { cwd })).stdout.trim()).toBe(version)
  const registry = [path, join(pshub, bin.pshub), 'registry', '--port', '0']
  const [, url] = await packed.started(registry, { cwd }, /Registry: (http\S+)#token/)
  expect((await fetch(new URL('healthz', url))).status).toBe(200)
})
