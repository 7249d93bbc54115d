import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { firstManifest } from '../../src/cli/first-files.ts'
import { importPshub, root, useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { module, run } = cli
let folder: string
const text = (name: string) => readFileSync(join(folder, name), 'utf8')
const init = (...args: string[]) => run(['init', ...args])

beforeEach(() => {
  folder = cli.folder
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
})

describe('init', () => {
  it('writes TypeScript with zod, leaves what is there alone, and says what to do next', async () => {
    writeFileSync(join(folder, 'README.md'), 'mine')
    const { code, out } = await init()
    expect([code, text('README.md')]).toEqual([0, 'mine'])
    expect(out.split('\n')).toEqual([
      'Written: tasks.ts, tasks.test.ts, tsconfig.json, package.json',
      'Not changed, because it exists: README.md',
      'Next:',
      '  npm install',
      '  npx pshub dev tasks.ts',
      '',
    ])
    expect(text('tasks.ts')).toContain("from 'zod'")
    const again = JSON.parse((await init('--json')).out)
    expect(again.written).toEqual([])
    expect(again.next[0]).toBe('npm install zod && npm install --save-dev @types/node tsx typescript wasmoon-lua5.1')
  })

  it('writes JavaScript with --js', async () => {
    const { written, next } = JSON.parse((await init('--js', '--json')).out)
    expect(written).toContain('tasks.test.mjs')
    expect(next).toContain('npx pshub dev tasks.mjs')
  })
})

describe('package.json', () => {
  const manifest = (present: object | string) =>
    firstManifest('ts', typeof present === 'string' ? present : JSON.stringify(present))

  it('that npm made when pshub was installed gets what the task needs, and keeps what it has', () => {
    const given = { dependencies: { pshub: 'file:../pshub.tgz', zod: '^4.6.0' } }
    const { dependencies, devDependencies, type, scripts } = JSON.parse(manifest(given)!)
    expect(dependencies).toEqual({ pshub: 'file:../pshub.tgz', zod: '^4.6.0' })
    expect(Object.keys(devDependencies)).toContain('tsx')
    expect([type, scripts.dev]).toEqual(['module', 'pshub dev tasks.ts'])
  })

  it.each([{ name: 'shop', dependencies: {} }, { type: 'commonjs' }, 'not JSON'])(
    'of somebody is left alone: %j',
    present => {
      expect(manifest(present)).toBeUndefined()
    },
  )
})

describe('a worker of TypeScript', () => {
  const task = `${importPshub}import { word } from './word.js'
enum Mark { end = '!' }
export const say = defineTask('say:1.0', {}, (): string => word + Mark.end)
`
  const isOld = /^v20\./.test(process.version)

  it('runs it through tsx on an older Node, with what it imports', async () => {
    module(
      'say.ts',
      isOld
        ? task
        : task
            .replace(/enum .*\n/, '')
            .replace('Mark.end', "'!'")
            .replace('word.js', 'word.ts'),
    )
    module('word.ts', "export const word: string = 'hello'\n")
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(root, 'node_modules/tsx'), join(folder, 'node_modules/tsx'))
    const worker = cli.start(['worker', './say.ts'])
    await worker.shows('worker started')
    expect((await run(['call', 'say'])).out).toBe('"hello!"\n')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it.runIf(isOld)('says what to install where there is no tsx', async () => {
    module('say.ts', task)
    const { code, err } = await cli.start(['worker', './say.ts']).ended
    expect(code).toBe(2)
    expect(err).toMatch(
      /say\.ts is TypeScript, which Node 20\S* cannot run\. Install tsx \(npm install --save-dev tsx\)/,
    )
  })
})
