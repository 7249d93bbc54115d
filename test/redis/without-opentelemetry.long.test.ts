import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
let folder: string

/** pshub as npm installs it without its optional peer: its own files, and the packages it depends on. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-bare-'))
  const packages = join(folder, 'node_modules')
  mkdirSync(join(packages, 'pshub'), { recursive: true })
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(packages, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  }
  for (const name of ['dist', 'package.json'])
    cpSync(join(root, name), join(packages, 'pshub', name), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{}')
  // Hides one that may lie in a folder above.
  mkdirSync(join(packages, '@opentelemetry/api'), { recursive: true })
  writeFileSync(join(packages, '@opentelemetry/api/package.json'), '{"exports":{}}')
  cpSync(join(root, 'test/support/one-call.mjs'), join(folder, 'one-call.mjs'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('works without OpenTelemetry, and says nothing about it', async () => {
  const args = [join(folder, 'one-call.mjs'), it_.url, it_.namespace]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 60_000 })
  expect(JSON.parse(stdout)).toEqual({ isInstalled: false, result: 'in' })
  expect(stderr).toBe('')
})

it('says what to install where amqplib is missing', async () => {
  const program =
    "import('pshub').then(({ amqp }) => amqp({ url: 'amqp://x' })).catch(({ code, message }) => console.log(code, message))"
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder, timeout: 60_000 })
  expect(stdout).toBe(
    'InvalidConfig amqp: the package amqplib is not installed here; install it: npm install amqplib\n',
  )
})

it('says what to install where unix-dgram is missing', async () => {
  const program =
    "import('pshub').then(({ Hub }) => new Hub({ statsd: 'unix:///run/statsd' })).catch(({ message }) => console.log(message))"
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder, timeout: 60_000 })
  expect(stdout).toMatch(/npm install unix-dgram.*udp:\/\/host:port/)
})

it('needs it for no type either', () => {
  const types = join(root, 'dist')
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(join(types, file), 'utf8')
    expect(text, file).not.toContain('@opentelemetry')
    for (const [, name] of text.matchAll(/(?:from |import\()'(\.\.?\/[^']+)\.ts'/g))
      visit(join(dirname(file), `${name}.d.ts`))
  }
  visit('index.d.ts')
  expect(readdirSync(join(types, 'outlets'))).toContain('tracing.d.ts')
  expect([...reached].length).toBeGreaterThan(15)
})
