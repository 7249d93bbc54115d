import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nodeProject, npmInstall, run, usePacked } from '../support/packed.ts'

/** The package as npm installs it, in the hands of other runtimes of JavaScript, where they are on the PATH. */
const packed = usePacked()

const files = {
  'package.json': nodeProject['package.json'],
  'tasks.mjs': `import { defineTask } from 'pshub'
const args = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
export const half = defineTask('half:1.0', { args }, ({ n }) => n / 2)
export const count = defineTask('count:1.0', { args }, function* ({ n }) { for (let i = 1; i <= n; i++) yield i })
export const runtime = defineTask('runtime:1.0', {}, () => process.versions.bun ? 'bun' : process.versions.deno ? 'deno' : 'node')
`,
  'call.mjs': `import { Hub } from 'pshub'
const queue = process.argv[2]
const hub = new Hub()
const runtime = await hub.call('runtime:1.0', {}, { queue })
const called = await hub.call('half:1.0', { n: 3 }, { queue })
const job = await hub.enqueue('half:1.0', { n: 5 }, { queue, tracked: true })
const chunks = []
for await (const chunk of hub.stream('count:1.0', { n: 3 }, { queue })) chunks.push(chunk)
const refused = await hub.call('half:1.0', { n: 'a' }, { queue }).catch(error => error.code)
console.log(JSON.stringify([runtime, called, await job.result(), chunks, refused]))
await hub.close()
`,
}

const runtimes: [name: string, major: string, command: string[]][] = [
  ['bun', '1', ['bun']],
  ['deno', '2', ['deno', 'run', '--allow-all']],
]

/** Why it cannot be tried here; undefined where it can. */
const lackOf = (name: string, major: string): string | undefined => {
  try {
    const [, version] = /(\d+)\.\d+\.\d+/.exec(execFileSync(name, ['--version'], { encoding: 'utf8' })) ?? []
    return version === major ? undefined : `${name} on the PATH is of version ${version}, and ${major} is tested`
  } catch {
    return `${name} is not on the PATH`
  }
}

for (const [name, major, command] of runtimes)
  it(`${name} ${major} runs worker, call, job and stream`, { timeout: 180_000 }, async ({ skip }) => {
    const lack = lackOf(name, major)
    if (lack !== undefined) return skip(lack)
    const cwd = packed.project(name, files)
    await run('npm', [...npmInstall, await packed.tarball('pshub')], { cwd })
    const worker = [
      ...command,
      join(cwd, 'node_modules/pshub/dist/cli/main.js'),
      'worker',
      './tasks.mjs',
      '--queue',
      name,
    ]
    const answer = await packed.serveAndCall({ cwd, env: {}, worker, call: [...command, 'call.mjs', name] })
    expect(JSON.parse(answer)).toEqual([name, 1.5, 2.5, [1, 2, 3], 'InvalidArgs'])
  })
