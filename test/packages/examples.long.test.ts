import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { installPackages, mayInstallPackages } from '../../tools/apt.mjs'
import { rubyEnv } from '../../tools/ruby-env.mjs'
import { root } from '../support/cli-fixture.ts'
import { useExampleApps } from '../support/example-app.ts'
import { keepsItsPromises } from '../support/example-promises.ts'
import { npmInstall, run } from '../support/packed.ts'

/** The web examples with their own packages. Part of `npm run test:all`: all that they name is fetched. */
const apps = useExampleApps()

/** Why something could not be installed, in a line; a fault of pshub itself is not among what this is asked about. */
const firstLineOf = (error: unknown): string => {
  const { stderr, message } = error as { stderr?: string; message: string }
  return String(stderr || message)
    .trim()
    .split('\n', 1)[0]!
}

const ofNode = [
  { name: 'express', web: 'npm start' },
  { name: 'fastify', web: 'npm start' },
  { name: 'nest', web: 'npm run build && npm start' },
  { name: 'next', web: 'npm run build && npm start' },
]

describe.each(ofNode)('the example of $name', ({ name, web }) => {
  it('does what its README says', { timeout: 300_000 }, async ({ skip }) => {
    const cwd = apps.copy(name, ['package.json', 'file:../..', `file:${root}`])
    try {
      await run('npm', npmInstall, { cwd })
    } catch (error) {
      return skip(`npm could not install its packages: ${firstLineOf(error)}`)
    }
    await keepsItsPromises(apps, { name, cwd, worker: 'npm run worker', web, noticesLeaving: true })
  })
})

const ofPython = [
  { name: 'django', web: 'uvicorn shop.asgi:application --port 3000', noticesLeaving: true },
  { name: 'flask', web: 'gunicorn --threads 8 --bind 127.0.0.1:3000 app:app', noticesLeaving: false },
]

describe.each(ofPython)('the example of $name', ({ name, web, noticesLeaving }) => {
  it('does what its README says', { timeout: 300_000 }, async ({ skip }) => {
    const cwd = apps.copy(name, ['requirements.txt', '../../clients/python', join(root, 'clients/python')])
    const bin = join(cwd, '.venv/bin')
    try {
      await run('python3', ['-m', 'venv', '.venv'], { cwd })
      await run(join(bin, 'pip'), ['install', '-q', '-r', 'requirements.txt'], { cwd })
    } catch (error) {
      return skip(`its packages could not be installed: ${firstLineOf(error)}`)
    }
    const env = { PATH: `${bin}:${process.env.PATH}` }
    await keepsItsPromises(apps, { name, cwd, worker: 'pshub-worker-py worker.py', web, env, noticesLeaving })
  })
})

/** Rails as Debian has it: without Bundler, and older than the Gemfile asks for, which takes a registry that is not always at hand. */
const lackOfRails = (ruby: string): string | undefined => {
  try {
    execFileSync(ruby, ['-e', 'require "rails"; require "action_controller"; require "puma"'], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return firstLineOf(error)
  }
}

it("the example of Rails does what its README says, with Debian's Rails", { timeout: 300_000 }, async ({ skip }) => {
  let ruby: string
  try {
    ruby = rubyEnv()
    if (lackOfRails(ruby) && mayInstallPackages()) installPackages('ruby-railties', 'puma')
  } catch (error) {
    return skip(`Ruby and Rails could not be had: ${firstLineOf(error)}`)
  }
  const lack = lackOfRails(ruby)
  if (lack) return skip(`there is no Rails here: ${lack}`)
  const client = join(root, 'clients/ruby')
  const cwd = apps.copy('rails', ['Gemfile', '../../clients/ruby', client])
  await keepsItsPromises(apps, {
    name: 'rails',
    cwd,
    worker: `${ruby} ${join(client, 'exe/pshub-worker-rb')} worker.rb`,
    web: 'puma',
    told: ['bundle exec pshub-worker-rb worker.rb', 'bundle exec puma'],
    env: { RUBYLIB: join(client, 'lib') },
    noticesLeaving: false,
  })
})
