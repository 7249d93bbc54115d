import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { pythonEnv } from '../../tools/python-env.mjs'
import { rubyEnv } from '../../tools/ruby-env.mjs'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { read } from '../support/protocol-document.ts'

/** What docs/other-languages.md says is run as it stands there: its calls against README's own task, and its tasks. */
const fixture = useRedis()
const document = 'docs/other-languages.md'

const blocksIn = (name: string, language: string): string[] =>
  [...read(name).matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text!)

let folder: string
beforeAll(() => {
  ensureBuild()
  folder = mkdtempSync(join(tmpdir(), 'pshub-languages-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const languages = {
  python: { env: pythonEnv, file: 'images.py', print: 'import json\nprint(json.dumps(size))\nhub.close()' },
  ruby: { env: rubyEnv, file: 'images.rb', print: 'puts JSON.generate(size)\nhub.close' },
}
type Language = keyof typeof languages
const names = Object.keys(languages) as Language[]

/** Starts a program in the folder, as a reader would have it: with the commands of the installed packages on the PATH. */
const start = (program: string, args: string[], interpreter: string) => {
  const path = [dirname(interpreter), join(root, 'clients/ruby/exe'), process.env.PATH].join(delimiter)
  const own = { PSHUB_REDIS: fixture.url, PSHUB_NAMESPACE: fixture.namespace, RUBYLIB: join(root, 'clients/ruby/lib') }
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...own, PATH: path } })
  let out = ''
  let said = ''
  child.stdout.on('data', data => (out += data))
  child.stderr.on('data', data => (said += data))
  const ended = new Promise<{ status: number | null; out: string; said: string }>(resolve =>
    child.once('close', status => resolve({ status, out, said })),
  )
  fixture.onEnd(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return { child, ended, said: () => said, printed: () => out }
}

const interpreterOf = (language: Language, skip: (note?: string) => never): string => {
  try {
    return languages[language].env()
  } catch (error) {
    const { message } = error as Error
    console.log(`The documents were not tried in ${language}: ${message}`)
    return skip(message)
  }
}

/** Runs a block that makes `size`, and returns that. */
const sizeBy = async (language: Language, text: string, interpreter: string) => {
  writeFileSync(
    join(folder, 'caller'),
    `${text.replaceAll('redis://127.0.0.1:6379', fixture.url).replace(/timeout(=|: )0\.5/, 'timeout$15')}\n${languages[language].print}\n`,
  )
  const { status, out, said } = await start(interpreter, ['caller'], interpreter).ended
  expect([status, said]).toEqual([0, ''])
  return JSON.parse(out)
}

describe.each(names)('docs/recipes.md, in %s', language => {
  it('its jobs are enqueued', { timeout: 180_000 }, async ({ skip }) => {
    const interpreter = interpreterOf(language, skip)
    fixture.allowLeftovers()
    const tasks = [
      defineTask('welcome:1.0', {}, () => undefined),
      defineTask('report:1.0', {}, () => undefined),
      defineTask('store_order:1.0', { keyed: 'merged' }, () => undefined),
    ]
    const queue = 'recipes'
    await fixture.worker(tasks, { queue, jobSlots: 0 })
    const [text] = blocksIn('docs/recipes.md', `${language} outline`)
    writeFileSync(join(folder, 'recipes'), `${text}\nhub.close${language === 'python' ? '()' : ''}\n`)
    const { status, said } = await start(interpreter, ['recipes'], interpreter).ended
    expect([status, said]).toEqual([0, ''])
    const hub = fixture.hub()
    const hooked = await hub.key('order.paid', 'order-17', { queue: 'forward.hooks' })
    expect((await hooked.status()).waiting).toBe(1)
    expect((await hub.schedules(queue).list()).map(({ name }) => name)).toEqual(['office-report'])
    const key = await hub.key('store_order:1.0', 'order-17', { queue })
    expect((await key.status()).payloads).toHaveLength(3)
    expect((await hub.jobs({ queue, state: 'waiting' })).jobs.map(({ task }) => task)).toContain('welcome:1.0')
  })
})

describe('docs/migrating.md', () => {
  it('its example works in python', { timeout: 180_000 }, async ({ skip }) => {
    // Its hub is not closed, as theirs is not.
    fixture.allowLeftovers()
    const interpreter = interpreterOf('python', skip)
    const [, task, call] = blocksIn('docs/migrating.md', 'python outline')
    writeFileSync(join(folder, 'tasks.py'), task!)
    const worker = start('sh', ['-c', 'exec pshub-worker-py tasks'], interpreter)
    await expect.poll(worker.said, { timeout: 60_000 }).toContain('worker started')
    writeFileSync(join(folder, 'caller'), call!.replace('redis://127.0.0.1:6379', fixture.url))
    const { out, said } = await start(interpreter, ['caller'], interpreter).ended
    expect([out, said]).toEqual(['8\n', ''])
  })

  it('its example works in ruby', { timeout: 180_000 }, async ({ skip }) => {
    const interpreter = interpreterOf('ruby', skip)
    const [, task, call] = blocksIn('docs/migrating.md', 'ruby outline')
    writeFileSync(join(folder, 'tasks.rb'), `$stdout.sync = true\n${task}`)
    const worker = start('sh', ['-c', 'exec pshub-worker-rb tasks.rb'], interpreter)
    await expect.poll(worker.said, { timeout: 60_000 }).toContain('worker started')
    writeFileSync(join(folder, 'caller'), call!.replace('redis://127.0.0.1:6379', fixture.url))
    expect((await start(interpreter, ['caller'], interpreter).ended).said).toBe('')
    await expect.poll(worker.printed, { timeout: 60_000 }).toBe('bob 5\n')
  })
})

describe.each(names)('docs/other-languages.md, in %s', language => {
  it('its call is one of the task in docs/when-it-fails.md', { timeout: 180_000 }, async ({ skip }) => {
    const interpreter = interpreterOf(language, skip)
    const [task] = blocksIn('docs/when-it-fails.md', 'js')
    expect(task).toContain("required: ['width', 'height', 'box']")
    writeFileSync(join(folder, 'tasks.mjs'), task!.replace("'pshub'", `'${join(root, 'dist/index.js')}'`))
    const main = join(root, 'dist/cli/main.js')
    const worker = start(process.execPath, [main, 'worker', './tasks.mjs', '--queue', 'images'], process.execPath)
    await expect.poll(worker.said, { timeout: 60_000 }).toContain('worker started')
    const [call] = blocksIn(document, `${language} outline`)
    expect(await sizeBy(language, call!, interpreter)).toEqual({ width: 800, height: 600 })
  })

  it('its task is served by its command', { timeout: 180_000 }, async ({ skip }) => {
    const interpreter = interpreterOf(language, skip)
    const [call, task] = blocksIn(document, `${language} outline`)
    writeFileSync(join(folder, languages[language].file), task!)
    const command = blocksIn(document, 'sh outline').find(line => line.includes(language === 'ruby' ? '-rb' : '-py'))
    const worker = start('sh', ['-c', `exec ${command}`], interpreter)
    await expect.poll(worker.said, { timeout: 60_000 }).toContain('worker started')
    expect(await sizeBy(language, call!, interpreter)).toEqual({ width: 800, height: 600 })
    const hub = fixture.hub()
    await expect(hub.call('resize:1.0', { width: 1, height: 1, box: 0 })).rejects.toMatchObject({
      message: 'there is no such box',
    })
    worker.child.kill('SIGTERM')
    expect((await worker.ended).status).toBe(0)
  })
})
