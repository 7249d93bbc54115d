import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../tools/prepare.mjs'

export const name = 'install'
export const title = 'npm install: size on disk, packages, and time with a warm cache'

const peers = { BullMQ: 'bullmq', 'bee-queue': 'bee-queue', Moleculer: 'moleculer', 'gRPC-js': '@grpc/grpc-js' }

/** The version that the benchmark itself uses. */
const pinned = packageName => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'bench/package.json'), 'utf8'))
  return `${packageName}@${dependencies[packageName]}`
}

const sizeOf = folder =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

const installOnce = packages => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-install-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline', ...packages]
    const startedAt = performance.now()
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    const ms = performance.now() - startedAt
    // What is there, and not what the lock file has for other systems.
    const installed = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8')).packages
    return { ms, megabytes: sizeOf(join(folder, 'node_modules')) / 1e6, count: Object.keys(installed).length }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const run = async () => {
  const packed = mkdtempSync(join(tmpdir(), 'pshub-pack-'))
  try {
    const pack = cwd => {
      const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', packed]
      const told = JSON.parse(execFileSync('npm', args, { cwd, encoding: 'utf8' }))
      // A list, or by the packages' names: npm has changed it.
      return join(packed, Object.values(told)[0].filename)
    }
    const [pshub, registry] = [pack(root), pack(join(root, 'registry'))]
    const rows = []
    for (const [system, what] of [
      ['pshub', [pshub]],
      ['pshub with pshub-registry', [pshub, registry]],
      ...Object.entries(peers).map(([title, packageName]) => [title, [pinned(packageName)]]),
    ]) {
      // The first one fills the cache.
      installOnce(what)
      const { ms, megabytes, count } = installOnce(what)
      rows.push({ system, MB: megabytes.toFixed(1), packages: count, seconds: (ms / 1000).toFixed(1) })
    }
    return { rows }
  } finally {
    rmSync(packed, { recursive: true, force: true })
  }
}
