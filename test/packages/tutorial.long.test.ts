import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from '../../tools/redis-server.mjs'
import { type Block, codeBlocks } from '../support/code-blocks.ts'
import { hasSaid, type Program, useExampleApps } from '../support/example-app.ts'
import { eventually } from '../support/hub-fixture.ts'
import { run, usePacked } from '../support/packed.ts'

/**
 * docs/tutorial.md, followed block by block: a block that begins with the name of a file is written to it; one of `sh` is run, or left running
 * where its first line says so; one of `text` is what that prints, `...` standing for anything. What it takes from the registries of npm and
 * Python is fetched. No container is built: the commands of compose.yaml run as processes.
 */
const apps = useExampleApps()
const packed = usePacked()
const blocks = codeBlocks().filter(({ document }) => document === 'docs/tutorial.md')

const place = ({ document, line, text }: Block) => `${document}:${line} ${text.split('\n', 1)[0]}`
const fileOf = (text: string) => /^(?:\/\/|#) (\S*\.\w+|Dockerfile)\n/.exec(text)?.[1]
const isAway = /ENOTFOUND|EAI_AGAIN|ECONNRE|ETIMEDOUT|NewConnectionError|No matching distribution/

/** What is printed, where `...` stands for anything. */
const pattern = (text: string): RegExp => {
  const parts = text.trim().split('...')
  return new RegExp(parts.map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*?'))
}

/** Ports, Redis and patience differ from the reader's: a test machine may be busy. Before Node 22.18 `node web.ts` needs tsx. */
const makeReader = async () => {
  const ports = { 3000: await freePort(), 7421: await freePort(), 7422: await freePort() }
  const stripsTypes = 'typescript' in process.features && process.features.typescript
  return {
    ports,
    here: (text: string) =>
      Object.entries(ports)
        .reduce((told, [from, to]) => told.replaceAll(from, String(to)), text)
        .replaceAll('redis://127.0.0.1:6379', apps.redis)
        .replaceAll(/timeoutMs: \d+/g, 'timeoutMs: 30_000')
        .replaceAll(/^node (?=\w+\.ts)/gm, stripsTypes ? 'node ' : 'tsx '),
  }
}

it('docs/tutorial.md makes what it says', { timeout: 600_000 }, async ({ skip }) => {
  const clone = packed.cloneOf('clients/python')
  const parent = dirname(dirname(dirname(clone)))
  // The clone of the page, in which both tarballs were made before.
  const beside = join(parent, 'pshub')
  mkdirSync(beside)
  const made = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
  const manifest = { name: 'clone', version: '1.0.0', scripts: { tarballs: `cp ${made.join(' ')} .` } }
  writeFileSync(join(beside, 'package.json'), JSON.stringify(manifest))
  await run('cp', ['-r', join(parent, 'clone/clients'), join(parent, 'clone/src'), beside])

  const shop = join(parent, 'shop')
  const { here, ports } = await makeReader()
  const path = [join(shop, 'node_modules/.bin'), join(shop, '.venv/bin'), dirname(process.execPath), process.env.PATH]
  const env = {
    PATH: path.join(delimiter),
    PORT: String(ports[3000]),
    PSHUB_REDIS: apps.redis,
    PSHUB_REGISTRY_PORT: String(ports[7421]),
    ADMIN_TOKEN: 'a-token-of-24-characters',
  }
  let printed = ''
  let running: Program | undefined
  const programs: Program[] = []
  const cwd = () => (existsSync(shop) ? shop : parent)
  const follow = async ({ language, text }: Block): Promise<void> => {
    const file = fileOf(text)
    if (file) return writeFileSync(join(shop, file), here(text))
    if (language === 'text') {
      if (running) return hasSaid(running, pattern(here(text)))
      return expect(printed).toMatch(pattern(here(text)))
    }
    expect(language).toBe('sh')
    running = undefined
    if (text.startsWith('# In another terminal')) {
      running = apps.start(here(text), cwd(), env)
      programs.push(running)
      return
    }
    const { stdout } = await run('sh', ['-ec', here(text)], { cwd: cwd(), env: { ...process.env, ...env } })
    printed = stdout
  }

  expect(blocks.length).toBeGreaterThan(15)
  for (const block of blocks) {
    try {
      await follow(block)
    } catch (error) {
      const said = [(error as { stdout?: string }).stdout, (error as { stderr?: string }).stderr, error].join('\n')
      if (isAway.test(said)) return skip(`its packages could not be fetched: ${said.trim().split('\n').at(-1)}`)
      throw new Error(`${place(block)}: ${said}\n${printed}\n${programs.map(each => each.said()).join('\n')}`)
    }
  }
  await deploys({ shop, env, programs, here, ports })
})

interface Deployment {
  shop: string
  env: Record<string, string>
  programs: Program[]
  here(text: string): string
  ports: Record<3000 | 7421 | 7422, number>
}

/** The services of compose.yaml answer as those before them did, and end when they are told to. */
const deploys = async ({ shop, env, programs, here, ports }: Deployment) => {
  for (const program of programs) program.signal('SIGTERM')
  await Promise.all(programs.map(({ ended }) => ended))
  const compose = blocks.find(({ text }) => fileOf(text) === 'compose.yaml')!
  const commands = [...compose.text.matchAll(/^ +command: (.*)$/gm)].map(([, command]) => command!)
  const services = commands.filter(command => !command.startsWith('redis-server'))
  expect(services).toHaveLength(4)
  const deployed = services.map(command => apps.start(here(command), shop, { ...env, PSHUB_NAMESPACE: 'deployed' }))
  const get = (port: number, at: string) =>
    fetch(`http://127.0.0.1:${port}${at}`, { headers: { connection: 'close' } }).then(
      async response => (response.ok ? response.text() : undefined),
      () => undefined,
    )
  await eventually(async () => (await get(ports[3000], '/products/lamp'))?.includes('"similar":["desk","chair"]'))
  const similar = deployed[services.findIndex(command => command.startsWith('pshub-worker-py'))]!
  similar.signal('SIGTERM')
  await similar.ended
  await eventually(async () => (await get(ports[3000], '/products/lamp'))?.includes('"similar":[]'))
  await eventually(() => get(ports[7422], '/readyz'))
  await eventually(() => get(ports[7421], '/healthz'))
  for (const program of deployed) program.signal('SIGTERM')
  await Promise.all(deployed.map(({ ended }) => ended))
}
