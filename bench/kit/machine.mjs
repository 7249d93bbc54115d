// What a measurement was made on: figures without it say little.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { root } from '../../tools/prepare.mjs'

const firstLine = (program, args) => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')[0]
      .trim()
  } catch {
    return undefined
  }
}

const installed = (folder, names) =>
  Object.fromEntries(
    names.flatMap(name => {
      try {
        return [
          [name, JSON.parse(readFileSync(join(root, folder, 'node_modules', name, 'package.json'), 'utf8')).version],
        ]
      } catch {
        return []
      }
    }),
  )

/** Machine and versions, as they are now; the load average tells whether it was alone. */
export const machine = redisServer => ({
  at: new Date().toISOString(),
  processor: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  system: type(),
  node: process.versions.node,
  loadAverage: loadavg()[0].toFixed(2),
  redis: /v=([\d.]+)/.exec(firstLine(redisServer, ['--version']) ?? '')?.[1],
  nats: /v([\d.]+)/.exec(firstLine('nats-server', ['--version']) ?? '')?.[1],
  packages: {
    ...installed('.', ['ioredis']),
    ...installed('bench', ['bullmq', 'bee-queue', 'nats', 'moleculer', '@grpc/grpc-js', 'fastify', 'undici']),
  },
})

/** The same in two lines. */
export const machineText = ({ processor, memoryGb, node, redis, nats, loadAverage, packages }) => {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  return [
    `${processor}, ${memoryGb} GB, Node ${node}, Redis ${redis}${nats ? `, nats-server ${nats}` : ''}; load average at the start ${loadAverage}`,
    versions.join(', '),
  ].join('\n')
}
