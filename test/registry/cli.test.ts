import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Output } from '../../src/cli/output.ts'
import type { RunningService } from '../../src/cli/registry-package.ts'
import { tell } from '../../src/cli/registry-service.ts'
import { readSettings } from '../../src/settings/read.ts'
import { useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const token = 'a-token-of-sixteen-or-more'

const started = async (args: string[], env: Record<string, string> = {}) => {
  const running = cli.start(['registry', '--port', '0', ...args], env)
  let out = ''
  running.child.stdout.on('data', data => {
    out += data
  })
  await running.shows('Registry: http')
  const [, url] = /Registry: (http\S+)/.exec(out)!
  return { running, url: new URL(url!), out: () => out }
}

const sessionAt = async (url: URL, bearer: string) => {
  const response = await fetch(new URL('api/session', url.href.split('#')[0]), {
    headers: { authorization: `Bearer ${bearer}` },
  })
  return [response.status, await response.json()]
}

describe('pshub registry', () => {
  it('prints an address that logs in once and the token for more, serves, and ends with a signal', async () => {
    const { running, url, out } = await started([])
    expect([url.hostname, url.hash]).toEqual(['127.0.0.1', expect.stringMatching(/^#token=[\w-]{32}$/)])
    const admin = { role: 'admin', readOnly: false, namespace: cli.namespace }
    const code = url.hash.slice('#token='.length)
    const logIn = async () => {
      const body = JSON.stringify({ token: code })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(new URL('api/login', url.href.split('#')[0]), { method: 'POST', headers, body })
      return [response.status, await response.json()]
    }
    expect((await sessionAt(url, code))[0]).toBe(401)
    expect(await logIn()).toMatchObject([200, admin])
    expect((await logIn())[0]).toBe(401)
    expect(await sessionAt(url, /valid until it stops: (\S+)/.exec(out())![1]!)).toMatchObject([200, admin])
    running.signal('SIGTERM')
    const ended = await running.ended
    expect([ended.code, ended.err.includes('WARNING')]).toEqual([0, false])
  })

  it('takes flags before the environment, and shows no token that it was given', async () => {
    const { running, url, out } = await started(['--run-token', token, '--read-only', '--base-path', '/hub'], {
      PSHUB_REGISTRY_RUN_TOKEN: 'another-token-entirely',
      PSHUB_REGISTRY_VIEW_TOKEN: 'the-token-of-viewers',
    })
    expect([url.pathname, url.hash]).toEqual(['/hub/', ''])
    expect(await sessionAt(url, token)).toMatchObject([200, { role: 'run', readOnly: true }])
    expect(await sessionAt(url, 'the-token-of-viewers')).toMatchObject([200, { role: 'view' }])
    expect((await sessionAt(url, 'another-token-entirely'))[0]).toBe(401)
    expect(out()).toContain('Tokens are set for view, run.')
    running.signal('SIGINT')
    const ended = await running.ended
    expect(ended.code).toBe(0)
    expect(ended.out + ended.err).not.toContain(token)
  })

  it("takes the package of the project that it is started in, and refuses one that is not of pshub's version", async () => {
    const folder = join(cli.folder, 'node_modules/pshub-registry')
    mkdirSync(folder, { recursive: true })
    const write = (version: string) =>
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ version, main: 'index.cjs' }))
    writeFileSync(join(folder, 'index.cjs'), "exports.startRegistry = () => { throw new Error('of the project') }")
    try {
      write('9.9.9')
      // Node keeps what it once found of a package, so each look has a process of its own.
      const other = await cli.start(['registry']).ended
      expect([other.code, other.err]).toEqual([
        2,
        expect.stringMatching(
          /^pshub-registry 9\.9\.9 does not match pshub \S+: .*npm install pshub@(\S+) pshub-registry@\1\n$/,
        ),
      ])
      write((await cli.run(['--version'])).out.trim())
      expect((await cli.start(['registry']).ended).err).toBe('of the project\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('warns when others can reach it without TLS', () => {
    const told = (options: object) => {
      const err: string[] = []
      const sink = (lines: string[]) => ({
        isTerminal: false,
        width: undefined,
        paint: (_: unknown, text: string) => text,
        line: (text = '') => void lines.push(text),
      })
      const output = { out: sink([]), err: sink(err) } as unknown as Output
      tell({ url: 'http://x' } as RunningService, readSettings('registry', { options }), output)
      return err.join('\n')
    }
    expect(told({ host: '0.0.0.0' })).toContain('WARNING: other machines can reach it (0.0.0.0), without TLS')
    expect(told({ host: '0.0.0.0', behindProxy: ['127.0.0.1'] })).toBe('')
    expect(told({ host: '127.0.0.1' })).toBe('')
  })

  it('starts while Redis is away, and writes no line for a look at its health', async () => {
    const away = ['--redis', 'redis://127.0.0.1:1', '--view-token', token, '--log-level', 'debug']
    const { running, url } = await started(away)
    expect((await fetch(new URL('healthz', url))).status).toBe(503)
    expect((await fetch(url)).status).toBe(200)
    running.signal('SIGTERM')
    const { out, err } = await running.ended
    expect(out + err).not.toMatch(/healthz|incoming request|request completed/)
  })

  it('says what is wrong, in one line', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const ended = async (running: ReturnType<typeof cli.run>) => {
      const { code, err } = await running
      expect(err).not.toMatch(/\n\s+at /)
      return [code, err]
    }
    const failed = (...args: string[]) => ended(cli.run(['registry', '--log-level', 'silent', ...args]))
    // The package throws errors of the pshub that is built, which the command from the source does not know.
    const failedInPackage = (...args: string[]) => ended(cli.start(['registry', ...args]).ended)
    expect(await failed('--port', String(port))).toEqual([
      2,
      expect.stringContaining(`127.0.0.1 port ${port} is taken; choose`),
    ])
    expect(await failed('--view-token', 'short')).toEqual([2, expect.stringMatching(/^--view-token must have 16/)])
    expect(await failedInPackage('--view-token', token, '--run-token', token)).toEqual([
      2,
      'Tokens of different roles must differ.\n',
    ])
    expect(await failed('--base-path', 'x')).toEqual([2, expect.stringContaining('must be a path like /registry')])
    expect(await failedInPackage('--max-body-bytes', '2000000')).toEqual([
      2,
      expect.stringContaining('maxPayloadBytes'),
    ])
    server.close()
  })
})

describe('settings of the registry', () => {
  it('come from flags, the environment, and are refused when they are none', () => {
    const env = { PSHUB_REGISTRY_READ_ONLY: 'on', PSHUB_REGISTRY_ALLOWED_HOSTS: 'a.example, b.example,' }
    expect(readSettings('registry', { env })).toMatchObject({
      readOnly: true,
      allowedHosts: ['a.example', 'b.example'],
      port: 7421,
    })
    expect(readSettings('registry', { env, flags: { readOnly: 'off' } }).readOnly).toBe(false)
    expect(readSettings('registry', { env: { PSHUB_REGISTRY_ENVIRONMENT: 'production' } }).environment).toBe(
      'production',
    )
    const wrong: [object, RegExp][] = [
      [{ flags: { environment: 'staging:pink' } }, /--environment must be a name .* red, orange, .*"staging:pink"/],
      [{ flags: { readOnly: 'yes' } }, /--read-only must be on or off/],
      [{ options: { allowedHosts: 'a' } }, /must be names of hosts/],
      [{ options: { basePath: '/a/../../b?' } }, /must be a path/],
      [{ env: { PSHUB_REGISTRY_ADMIN_TOKEN: 'canary' } }, /^PSHUB_REGISTRY_ADMIN_TOKEN must have 16/],
    ]
    for (const [sources, message] of wrong) expect(() => readSettings('registry', sources)).toThrow(message)
    expect(() => readSettings('registry', { env: { PSHUB_REGISTRY_ADMIN_TOKEN: 'canary' } })).not.toThrow(/canary/)
    expect(() => readSettings('hub', { options: { port: 1 } })).toThrow(/no option 'port'/)
  })
})
