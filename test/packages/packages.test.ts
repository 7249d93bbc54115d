import { execFile, execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonEnv } from '../../tools/python-env.mjs'
import { startServer } from '../../tools/redis-server.mjs'
import { rubyEnv } from '../../tools/ruby-env.mjs'
import { ensureBuild, root } from '../support/cli-fixture.ts'

/** Each package as its users get it: packed, installed into an empty project, and a call made from there to a worker there. */
const run = promisify(execFile)
let folder: string
let server: Awaited<ReturnType<typeof startServer>>
const ends: (() => unknown)[] = []

beforeAll(async () => {
  ensureBuild()
  // Not through a link: what is loaded must be seen to come from here.
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'pshub-packages-')))
  server = await startServer()
})
afterAll(async () => {
  await Promise.all(ends.map(end => end()))
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const project = (name: string, files: Record<string, string>): string => {
  const path = join(folder, name)
  mkdirSync(path)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

/** What a clone has of a folder, and nothing that was built beside it. */
const tracked = (part: string): string => {
  const files = execFileSync('git', ['ls-files', '-z', part], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)
  for (const file of files) cpSync(join(root, file), join(folder, 'clone', file))
  return join(folder, 'clone', part)
}

interface Installed {
  cwd: string
  env: Record<string, string>
  worker: string[]
  /** Prints the answer of `where:1.0`, which is the file that the package was loaded from. */
  call: string[]
}

const serveAndCall = async ({ cwd, env, worker, call }: Installed): Promise<string> => {
  const options = { cwd, env: { ...process.env, PSHUB_REDIS: server.url, ...env } }
  const [program, ...args] = worker
  const child = spawn(program!, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise(resolve => child.once('exit', resolve))
  ends.push(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said += data))
  await expect.poll(() => said, { timeout: 20_000 }).toMatch(/started|serv/i)
  return (await run(call[0]!, call.slice(1), options)).stdout.trim()
}

const oneIn = (path: string, ending: string) => join(path, readdirSync(path).find(name => name.endsWith(ending))!)

describe('a call from and to what is installed of', () => {
  it('the npm package', { timeout: 180_000 }, async () => {
    const path = project('node', {
      'package.json': '{"private":true,"type":"module"}',
      'tasks.mjs': `import { defineTask } from 'pshub'
export const where = defineTask('where:1.0', {}, () => import.meta.resolve('pshub'))`,
      'call.mjs': `import { Hub } from 'pshub'
const hub = new Hub()
console.log(await hub.call('where:1.0', {}, { queue: 'node' }))
await hub.close()`,
    })
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
    const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', oneIn(folder, '.tgz')]
    await run('npm', install, { cwd: path })
    const worker = [join(path, 'node_modules/.bin/pshub'), 'worker', './tasks.mjs', '--queue', 'node']
    const answer = await serveAndCall({ cwd: path, env: {}, worker, call: [process.execPath, 'call.mjs'] })
    expect(answer).toContain(join(path, 'node_modules/pshub/dist/'))
  })

  it('the Python wheel', { timeout: 180_000 }, async ({ skip }) => {
    const python = environmentOf(pythonEnv, skip)
    const path = project('python', {
      'tasks.py': `import pshub
from pshub import task

@task("where:1.0")
def where() -> str:
    return pshub.__file__`,
      'call.py': `from pshub import Hub
with Hub() as hub:
    print(hub.call("where:1.0", queue="python"))`,
    })
    const site = join(path, 'site')
    // The wheel is made of the source package: both are whole.
    await run(python, ['-m', 'build', '--outdir', path, tracked('clients/python')])
    await run(python, ['-m', 'pip', 'install', '-q', '--no-deps', '--target', site, oneIn(path, '.whl')])
    const worker = [python, join(site, 'bin/pshub-worker-py'), 'tasks', '--queue', 'python']
    const answer = await serveAndCall({
      cwd: path,
      env: { PYTHONPATH: `${site}:${path}` },
      worker,
      call: [python, 'call.py'],
    })
    expect(answer).toBe(join(site, 'pshub/__init__.py'))
    expect(existsSync(join(site, 'pshub/redis/library.lua'))).toBe(true)
  })

  it('the Ruby gem', { timeout: 120_000 }, async ({ skip }) => {
    const ruby = environmentOf(rubyEnv, skip)
    const path = project('ruby', {
      'tasks.rb': `Pshub.task("where:1.0") { Gem.loaded_specs["pshub"].full_gem_path }`,
      'call.rb': `require "pshub"
hub = Pshub::Hub.new
puts hub.call("where:1.0", queue: "ruby")
hub.close`,
    })
    const gems = join(path, 'gems')
    const gem = join(path, 'pshub.gem')
    await run(ruby, ['-S', 'gem', 'build', 'pshub.gemspec', '--output', gem], { cwd: tracked('clients/ruby') })
    const options = ['--local', '--ignore-dependencies', '--no-document', '--install-dir', gems]
    await run(ruby, ['-S', 'gem', 'install', ...options, gem])
    const path_ = execFileSync(ruby, ['-e', 'print Gem.path.join(":")'], { encoding: 'utf8' })
    const env = { GEM_PATH: `${gems}:${path_}` }
    const worker = [ruby, join(gems, 'bin/pshub-worker-rb'), 'tasks.rb', '--queue', 'ruby']
    const answer = await serveAndCall({ cwd: path, env, worker, call: [ruby, 'call.rb'] })
    expect(answer).toMatch(`${gems}/gems/pshub-`)
    expect(existsSync(join(answer, 'lib/pshub/redis/library.lua'))).toBe(true)
  })
})

/** As everywhere: a language that cannot be had is said to be missing, with the reason. */
const environmentOf = (make: () => string, skip: (note?: string) => never): string => {
  try {
    return make()
  } catch (error) {
    const { message } = error as Error
    console.log(`This package will not be tested: ${message}`)
    return skip(message)
  }
}
