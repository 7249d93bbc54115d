import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { useExampleApps } from '../support/example-app.ts'
import { keepsItsPromises } from '../support/example-promises.ts'

/** Those of the web examples whose framework is here anyway; test/packages/examples.test.ts installs all of them. */
const apps = useExampleApps()

it.each(['fastify', 'express'])('the example of %s does what its README says', { timeout: 60_000 }, async name => {
  const cwd = apps.copy(name, ['package.json', 'file:../..', `file:${root}`])
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
  const framework = join(root, 'node_modules', name)
  expect(read(join(cwd, 'package.json')).dependencies[name]).toBe(read(join(framework, 'package.json')).version)
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true })
  symlinkSync(framework, join(cwd, 'node_modules', name))
  symlinkSync(root, join(cwd, 'node_modules/pshub'))
  symlinkSync(join(root, 'dist/cli/main.js'), join(cwd, 'node_modules/.bin/pshub'))
  await keepsItsPromises(apps, { name, cwd, worker: 'npm run worker', web: 'npm start', noticesLeaving: true })
})
