import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { libraryText } from '../../src/redis/library.ts'
import { engineText } from '../../src/testing/redis/engine-source.ts'
import { pythonEnv } from '../../tools/python-env.mjs'
import { rubyEnv } from '../../tools/ruby-env.mjs'
import { root } from '../support/cli-fixture.ts'
import { tooNew } from '../support/engines.mjs'
import { installedIn, nodeProject, npmInstall, run, usePacked } from '../support/packed.ts'

/** Each package as its users get it: packed, installed into an empty project, and a call made from there to a worker there. */
const packed = usePacked()

const oneIn = (path: string, ending: string) => join(path, readdirSync(path).find(name => name.endsWith(ending))!)

describe('the npm packages', () => {
  it('pshub-registry is what `pshub registry` asks for, and serves', { timeout: 180_000 }, async () => {
    const cwd = packed.project('registry', nodeProject)
    const tarballs = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
    await run('npm', [...npmInstall, tarballs[0]!], { cwd })
    const pshub = join(cwd, 'node_modules/.bin/pshub')
    const lacking = await run(pshub, ['registry'], { cwd }).catch(error => error)
    expect([lacking.code, lacking.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^The pages are in the package pshub-registry, .*\. Install it and start again: npm install pshub-registry@\S+\n$/,
      ),
    ])
    await run('npm', [...npmInstall, ...tarballs], { cwd })
    const installed = installedIn(cwd)
    expect(Object.keys(installed).filter(name => installed[name]!.hasInstallScript)).toEqual([])
    expect(tooNew(installed)).toEqual([])
    const [, url] = await packed.started([pshub, 'registry', '--port', '0'], { cwd }, /Registry: (http\S+)#token/)
    const page = await (await fetch(url!)).text()
    const [script] = /assets\/[\w.-]+\.js/.exec(page)!
    expect((await fetch(new URL(script, url))).status).toBe(200)
    expect((await fetch(new URL('healthz', url))).status).toBe(200)
  })

  it('carry the licences of all code in them, and the documents that README links to', async () => {
    for (const name of ['pshub', 'pshub-registry'] as const) {
      const { stdout } = await run('tar', ['-tzf', await packed.tarball(name)])
      const files = stdout.split('\n')
      for (const file of ['LICENSE', 'README.md', 'package.json']) expect(files).toContain(`package/${file}`)
      expect(files).toContain(`package/dist/${name === 'pshub' ? '' : 'web/'}THIRD-PARTY-LICENSES.txt`)
      const readme = readFileSync(join(root, name === 'pshub' ? '' : 'registry', 'README.md'), 'utf8')
      const linked = [...readme.matchAll(/\]\(((?:docs\/|[A-Z]+\.md)[^)#]*)/g)].map(([, path]) => `package/${path}`)
      // The reference is in the doc comments of the types that are packed.
      for (const path of linked.filter(path => !path.startsWith('package/docs/reference/')))
        expect(files).toContain(path)
      expect(files.filter(file => /\.(lua|tsx|mjs)$/.test(file))).toEqual([])
    }
  })
})

describe('the chunks of dist', () => {
  it('import each other by whole names: letters mean other functions in the next build', () => {
    const dist = join(root, 'dist')
    const texts = readdirSync(dist).flatMap(name =>
      name.endsWith('.js') ? readFileSync(join(dist, name), 'utf8') : [],
    )
    const imported = texts.flatMap(text =>
      [...text.matchAll(/^import \{ (.*) \} from "\.\/.*";$/gm)].map(([, names]) => names!),
    )
    const names = imported.flatMap(names => names.split(', ')).map(name => name.split(' as ')[0]!)
    expect(names.length).toBeGreaterThan(100)
    expect(names.filter(name => name.length < 3)).toEqual([])
  })
})

describe('a call from and to what is installed of', () => {
  it('the Python wheel', { timeout: 180_000 }, async ({ skip }) => {
    const python = environmentOf(pythonEnv, skip)
    const path = packed.project('python', {
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
    await run(python, ['-m', 'build', '--outdir', path, packed.cloneOf('clients/python')])
    await run(python, ['-m', 'pip', 'install', '-q', '--no-deps', '--target', site, oneIn(path, '.whl')])
    const worker = [python, join(site, 'bin/pshub-worker-py'), 'tasks', '--queue', 'python']
    const answer = await packed.serveAndCall({
      cwd: path,
      env: { PYTHONPATH: `${site}:${path}` },
      worker,
      call: [python, 'call.py'],
    })
    expect(answer).toBe(join(site, 'pshub/__init__.py'))
    hasLua(join(site, 'pshub'))
  })

  it('the Ruby gem', { timeout: 120_000 }, async ({ skip }) => {
    const ruby = environmentOf(rubyEnv, skip)
    const path = packed.project('ruby', {
      'tasks.rb': `Pshub.task("where:1.0") { Gem.loaded_specs["pshub"].full_gem_path }`,
      'call.rb': `require "pshub"
hub = Pshub::Hub.new
puts hub.call("where:1.0", queue: "ruby")
hub.close`,
    })
    const gems = join(path, 'gems')
    const gem = join(path, 'pshub.gem')
    await run(ruby, ['-S', 'gem', 'build', 'pshub.gemspec', '--output', gem], { cwd: packed.cloneOf('clients/ruby') })
    const options = ['--local', '--ignore-dependencies', '--no-document', '--install-dir', gems]
    await run(ruby, ['-S', 'gem', 'install', ...options, gem])
    const path_ = execFileSync(ruby, ['-e', 'print Gem.path.join(":")'], { encoding: 'utf8' })
    const env = { GEM_PATH: `${gems}:${path_}` }
    const worker = [ruby, join(gems, 'bin/pshub-worker-rb'), 'tasks.rb', '--queue', 'ruby']
    const answer = await packed.serveAndCall({ cwd: path, env, worker, call: [ruby, 'call.rb'] })
    expect(answer).toMatch(`${gems}/gems/pshub-`)
    hasLua(join(answer, 'lib/pshub'))
  })
})

/** Joined by each language's own code, byte for byte as the npm package has it. */
const hasLua = (folder: string) => {
  expect(readFileSync(join(folder, 'redis/library.lua'), 'utf8')).toBe(libraryText())
  expect(readFileSync(join(folder, 'testing/memory/redis.lua'), 'utf8')).toBe(engineText())
}

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
