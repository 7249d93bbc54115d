import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { registryCommand } from '../../src/cli/registry-command.ts'
import { workerCommand } from '../../src/cli/worker.ts'
import { settingsTable } from '../../src/settings/table.ts'

const folder = fileURLToPath(new URL('../../deploy', import.meta.url))
const files = readdirSync(folder, { recursive: true })
  .map(String)
  .filter(name => statSync(join(folder, name)).isFile() && !name.endsWith('.md'))
  .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))

const commands = { worker: workerCommand, registry: registryCommand }
const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()
const variables = new Set(
  Object.entries(settingsTable).map(([name, { users }]) =>
    users.includes('worker') || users.includes('hub') ? `PSHUB_${snake(name)}` : `PSHUB_REGISTRY_${snake(name)}`,
  ),
)

describe.each(files)('deploy/$name', ({ text }) => {
  it('names settings and flags that there are', () => {
    const named = text.match(/PSHUB_[A-Z_]+/g) ?? []
    expect(named.filter(name => !variables.has(name))).toEqual([])
    for (const [name, { options }] of Object.entries(commands)) {
      const lines = text
        .split('\n')
        .filter(line => new RegExp(`(pshub|command:|args: \\[|run my-tasks|7421) ?${name}\\b`).test(line))
      const flags = lines.flatMap(line => [...line.matchAll(/(?<=[ [])--([a-z-]+)/g)].map(([, flag]) => flag))
      const known = options.map(({ flag }) => flag)
      expect(flags.filter(flag => !known.includes(flag!))).toEqual([])
    }
  })
})

it('each has its workers say which build they run', () => {
  const of = (name: string) => files.find(file => file.name.endsWith(name))!.text
  expect(of('Dockerfile')).toMatch(/^ARG BUILD=\nENV PSHUB_BUILD=\$BUILD$/m)
  expect(of('compose.yaml')).toMatch(/args:\n +BUILD: \$\{BUILD:-\}$/m)
  // The label that is handed on, and the tag of the image, are one.
  const [, label] = /app\.kubernetes\.io\/version: "(.+)" \}/.exec(of('worker.yaml'))!
  expect(of('worker.yaml')).toContain(
    'name: PSHUB_BUILD\n              valueFrom:\n                fieldRef: { fieldPath: "metadata.labels[\'app.kubernetes.io/version\']" }',
  )
  expect(/image: .+:(.+)/.exec(of('worker.yaml'))![1]).toBe(label)
})

it('each waits longer than its worker may take to stop', () => {
  const of = (name: string) => files.find(file => file.name.endsWith(name))!.text
  const grace = (text: string) => Number(/--grace,? (\d+)s/.exec(text)![1])
  const patience = {
    'compose.yaml': /stop_grace_period: (\d+)s/,
    'worker.yaml': /GracePeriodSeconds: (\d+)/,
    '.service': /TimeoutStopSec=(\d+)/,
  }
  for (const [name, pattern] of Object.entries(patience))
    expect(Number(pattern.exec(of(name))![1]), name).toBeGreaterThan(grace(of(name)))
})
