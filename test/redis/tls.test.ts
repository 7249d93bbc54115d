import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { defineTask, Hub, type HubOptions, Worker } from '../../src/index.ts'
import { installPackages, mayInstallPackages, onPath } from '../../tools/apt.mjs'
import { onFreePort, startServer } from '../../tools/redis-server.mjs'

let folder: string
let server: Awaited<ReturnType<typeof startServer>>
let port: number
const file = (name: string) => join(folder, name)

/** An authority of this test's own, and a certificate of it for localhost. */
const makeCertificates = () => {
  if (!onPath('openssl') && mayInstallPackages()) installPackages('openssl')
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=authority', '-days', '2')
  openssl('req', ...key, '-keyout', 'redis.key', '-out', 'redis.csr', '-subj', '/CN=localhost')
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost\n')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2']
  openssl('x509', '-req', '-in', 'redis.csr', ...signed, '-out', 'redis.pem')
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-tls-'))
  makeCertificates()
  const files = ['--tls-cert-file', file('redis.pem'), '--tls-key-file', file('redis.key')]
  const authority = ['--tls-ca-cert-file', file('ca.pem'), '--tls-auth-clients', 'no']
  server = await onFreePort(async (free: number) => {
    port = free
    return startServer({ args: ['--tls-port', String(free), ...files, ...authority] })
  })
}, 60_000)
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const hubOn = (redis: HubOptions['redis'], more: HubOptions = {}) => {
  const hub = new Hub({ redis: redis!, logLevel: 'silent', ...more })
  onTestFinished(() => hub.close())
  return hub
}

describe('a Redis behind TLS', () => {
  it('is called and served over encrypted connections alone', async () => {
    const redis = { host: 'localhost', port, tls: { ca: readFileSync(file('ca.pem'), 'utf8') } }
    let release: () => void = () => undefined
    const blocks = defineTask(
      'wait:1.0',
      {},
      () =>
        new Promise<string>(resolve => {
          release = () => resolve('done')
        }),
    )
    const worker = new Worker({ redis, queue: 'q', tasks: [blocks], logLevel: 'silent' })
    onTestFinished(() => worker.stop())
    await worker.start()
    const hub = hubOn(redis)
    const call = hub.call('wait:1.0')
    await expect.poll(() => worker.busy).toBe(1)
    const clients = execFileSync('redis-cli', ['-p', String(new URL(server.url).port), 'CLIENT', 'LIST'], {
      encoding: 'utf8',
    })
    const own = clients.split('\n').filter(line => / name=pshub-/.test(line))
    expect(own.length).toBe(4)
    for (const line of own) expect(line).toContain(`laddr=127.0.0.1:${port}`)
    release()
    expect(await call).toBe('done')
  })

  it('whose certificate nobody knows, or is for another name, is not trusted, and the reason is said', async () => {
    const ca = readFileSync(file('ca.pem'), 'utf8')
    const reasonOn = (redis: HubOptions['redis']) =>
      hubOn(redis)
        .call('wait:1.0')
        .catch(error => error)
    expect(await reasonOn(`rediss://localhost:${port}`)).toMatchObject({
      code: 'NotEnqueued',
      message: expect.stringContaining('self-signed certificate in certificate chain'),
    })
    expect(await reasonOn({ host: '127.0.0.1', port, tls: { ca } })).toMatchObject({
      code: 'NotEnqueued',
      message: expect.stringMatching(/Hostname\/IP does not match certificate/),
    })
  })
})
