import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeKeys } from '../src/wire/keys.ts'
import { importedBy, walkWithoutCircle } from './support/imports.ts'
import { longest } from './support/slow-first-order.mjs'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'src')

/** The rooms of src, from the ground up: a room imports only from those before it. */
const rooms = [
  'wire',
  'schema-diff',
  'task',
  'types',
  'figures',
  'redis',
  'queue',
  'settings',
  'catalogue',
  'outlets',
  'jobs',
  'hub',
  'http',
  'worker',
  'forward',
  'testing',
  'cli',
]

/** What other rooms may import of a room. All of `wire` is what everybody speaks. */
const doors: Record<string, string[]> = {
  'schema-diff': ['index', 'pointer'],
  types: ['changes', 'python', 'schemas', 'typescript'],
  task: ['any-task', 'card', 'danger', 'local-references', 'exported', 'task', 'merged', 'schema', 'infer'],
  figures: [
    'callers',
    'events',
    'job-figures',
    'load',
    'loop-delay',
    'pulse',
    'recent-failures',
    'refusals',
    'slow-calls',
    'task-stats',
    'worker-look',
  ],
  redis: [
    'boot-check',
    'client',
    'crc16',
    'connection',
    'connections',
    'failures',
    'key-scan',
    'library',
    'refusals',
    'rights-check',
    'rights',
    'server-look',
    'target',
    'topology',
  ],
  queue: [
    'batches',
    'bells',
    'guards',
    'inspect',
    'job-queue',
    'numbered',
    'pause',
    'queue',
    'resharding',
    'round-trip',
    'shards',
    'taken',
    'work-left',
    'round-trip',
  ],
  settings: ['queues', 'read', 'statsd-address'],
  catalogue: [
    'call-lists',
    'looks/call-place',
    'cards',
    'catalogue',
    'looks/checkup',
    'foreign-checks',
    'forgetting',
    'kept-charts',
    'kept-sessions',
    'kept-templates',
    'overview',
    'queue-counts',
    'refusal-report',
    'refusals',
    'registrar',
    'unreadable',
    'worker-tasks',
  ],
  outlets: ['colour', 'log', 'printable', 'prometheus', 'statsd/statsd', 'task-log', 'tracing'],
  jobs: [
    'batch',
    'bulk',
    'chain',
    'cron',
    'dead',
    'enqueue-options',
    'entries',
    'held-job',
    'job',
    'job-details',
    'job-key',
    'job-outbox',
    'job-outboxes',
    'job-text',
    'schedules',
    'job-record',
    'not-taken',
    'lists/job-search',
    'lists/listing',
    'verdict',
  ],
  hub: ['call-options', 'hub', 'relay'],
  http: [],
  worker: ['hooks', 'worker'],
  forward: [
    'forwarder',
    'target',
    'targets/amqp',
    'targets/hub',
    'targets/redis-list',
    'targets/redis-stream',
    'targets/webhook',
  ],
  testing: [],
  cli: [],
}
/** So many files a newcomer can look over. The command line has one for each command. */
const mostInRoom = 20

/** The only importers of the outside packages. */
const importers: Record<string, string[]> = {
  ioredis: ['redis/addresses', 'redis/target', 'redis/client', 'worker/roles/keepalive-thread'],
  croner: ['jobs/cron'],
  ajv: ['task/ajv-options', 'task/schema', 'task/schema-judge', 'task/schema-problems'],
  pino: ['outlets/log'],
  'hot-shots': ['outlets/statsd/hot-shots'],
  piscina: ['worker/threads/thread-pool', 'worker/threads/thread-run'],
  'unix-dgram': ['outlets/statsd/wire'],
  '@opentelemetry': ['outlets/tracing'],
  amqplib: ['forward/targets/amqp'],
  'wasmoon-lua5.1': ['testing/redis/lua-machine'],
  // In the text of a file that it writes.
  pshub: ['cli/first-files'],
}

/** A file is understood in one sitting. */
const mostLines = 300
const folders = ['src', 'registry', 'test', 'bench', 'tools', 'clients', 'examples']
const isWritten = /\.(ts|tsx|mjs|cjs|js|py|rb|lua|css|sh|html)$/
/** Packages that are installed, what was built, and the library of Redis Functions, which the build puts together for the clients. */
const isMade =
  /(^|\/)(artifacts|node_modules|dist|build|\.venv|\.next|vendor|\.[\w-]+_cache|__pycache__)\/|(^|\/)(redis\/library|memory\/redis)\.lua$/

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => /\.(ts|mjs)$/.test(name))
const moduleOf = (file: string) => file.replace(/\.(ts|mjs)$/, '')
const textOf = (file: string) => readFileSync(join(source, file), 'utf8')
const importsOf = (file: string) => importedBy(textOf(file))
const roomOf = (module: string) => (module.includes('/') ? module.slice(0, module.indexOf('/')) : undefined)

const local = (file: string) =>
  importsOf(file)
    .filter(name => name.startsWith('.'))
    .map(name => moduleOf(relative(source, resolve(dirname(join(source, file)), name))))

describe('rooms', () => {
  it('are all there is in src, but for its index', () => {
    expect(
      readdirSync(source)
        .filter(name => !/^index\.ts$|^README\.md$/.test(name))
        .sort(),
    ).toEqual([...rooms].sort())
  })

  it.each(files)('%s imports only from its own room and those before it, through their doors', file => {
    const module = moduleOf(file)
    const room = roomOf(module)
    if (room === undefined) return
    for (const imported of local(file)) {
      const other = roomOf(imported)
      if (imported.startsWith('..') || other === room) continue
      // The command line is made of what every user of the library has.
      if (imported === 'index') expect(room).toBe('cli')
      else {
        expect(rooms.indexOf(other!), `${module} imports ${imported}`).toBeLessThan(rooms.indexOf(room))
        const isOpen = other === 'wire' || doors[other!]!.includes(imported.slice(other!.length + 1))
        expect(isOpen, `${module} imports ${imported}, which is no door of its room`).toBe(true)
      }
    }
  })

  it('have no door that nobody uses', () => {
    const used = new Set(files.flatMap(file => local(file).filter(name => roomOf(name) !== roomOf(moduleOf(file)))))
    for (const [room, open] of Object.entries(doors))
      for (const door of open) expect(used, `${room}/${door}`).toContain(`${room}/${door}`)
  })

  it.each(rooms.filter(room => room !== 'cli'))('%s can be looked over', room => {
    const inside = files.filter(file => roomOf(moduleOf(file)) === room && file.split('/').length === 2)
    expect(inside.length).toBeGreaterThan(0)
    expect(inside.length).toBeLessThanOrEqual(mostInRoom)
  })

  it('has roles of a worker that import no other role', () => {
    const roles = files.filter(file => file.startsWith('worker/roles/'))
    expect(roles.length).toBeGreaterThan(8)
    for (const role of roles) for (const imported of local(role)) expect(imported, role).not.toMatch(/^worker\/roles\//)
  })

  it('has no import cycle', () => {
    const graph = new Map(files.map(file => [moduleOf(file), local(file)]))
    expect(walkWithoutCircle(graph)).toBeGreaterThanOrEqual(files.length)
  })

  it.each(files)('%s imports outside packages only where they belong', file => {
    const packages = importsOf(file).filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    for (const name of packages) {
      const base = name.split('/')[0]!
      expect(importers[base], `${file} imports ${name}`).toContain(moduleOf(file))
    }
  })
})

describe('files', () => {
  const written = folders.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => isWritten.test(name) && !isMade.test(name))
      .map(name => join(folder, name)),
  )

  it.each(folders)('of %s are looked at', folder => {
    expect(written.some(file => file.startsWith(`${folder}/`))).toBe(true)
  })

  it(`have at most ${mostLines} lines`, () => {
    const long = written.filter(file => readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > mostLines)
    expect(long, 'these are to be split by role').toEqual([])
  })

  it.each(longest)('%s, which is run early, is there', name => {
    expect(written).toContain(`test/${name}.test.ts`)
  })

  it('only keys.ts writes a key name', () => {
    for (const file of files.filter(name => name !== 'wire/keys.ts')) {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      expect(code, file).not.toMatch(/\}:(calls|jobs|bell|held|leases|pushed|cancelled|reporter|paused)\b|:reply:/)
    }
  })

  it('waits for nothing that the clock of a test could not move: timers are those of wire/timers.ts', () => {
    // Commands wait for people. What a test moves does not move by itself.
    const own = files.filter(name => name.endsWith('.ts') && !/^(cli|testing)\/|^wire\/timers/.test(name))
    for (const file of own) {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      if (/\b(set|clear)Timeout\(/.test(code)) expect(importsOf(file).join(' '), file).toMatch(/\btimers\.ts/)
      expect(code, file).not.toMatch(/from 'node:timers(?!\/promises')/)
    }
  })

  it('each function in Redis states the keys and arguments that it uses, and what it returns', () => {
    for (const name of readdirSync(join(source, 'queue/lua')).filter(name => !name.startsWith('shared'))) {
      const text = readFileSync(join(source, 'queue/lua', name), 'utf8')
      const [header] = text.split(/\n(?!--)/)
      expect(header, name).toMatch(/^-- \w+: /)
      const used = ['KEYS[1]', 'ARGV[1]'].filter(part => text.replace(header!, '').includes(part))
      for (const part of [...used, '-- Returns ']) expect(header, name).toContain(part)
    }
  })

  it('keys of one queue share its hash tag', () => {
    const queue = makeKeys('ns').queue('orders')
    const all = [
      queue.calls,
      queue.jobs,
      queue.bell,
      queue.leases,
      queue.cancelled,
      queue.reporter,
      queue.paused,
      queue.held('w'),
      queue.pushed('h'),
    ]
    for (const key of all) expect(key).toContain('{orders}')
  })
})
