import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { useExampleApps } from '../support/example-app.ts'
import { keepsItsPromises } from '../support/example-promises.ts'

/** The one of the web examples whose framework is here anyway; test/packages/examples.test.ts installs all of them. */
const apps = useExampleApps()

it('the example of Fastify does what its README says', { timeout: 60_000 }, async () => {
  const cwd = apps.copy('fastify', ['package.json', 'file:../..', `file:${root}`])
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
  const fastify = join(root, 'node_modules/fastify')
  expect(read(join(cwd, 'package.json')).dependencies.fastify).toBe(read(join(fastify, 'package.json')).version)
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true })
  symlinkSync(fastify, join(cwd, 'node_modules/fastify'))
  symlinkSync(root, join(cwd, 'node_modules/pshub'))
  symlinkSync(join(root, 'dist/cli/main.js'), join(cwd, 'node_modules/.bin/pshub'))
  const commands = { worker: 'npm run worker', web: 'npm start' }
  await keepsItsPromises(apps, { name: 'fastify', cwd, ...commands, noticesLeaving: true })
})
