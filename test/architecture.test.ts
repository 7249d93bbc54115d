import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeKeys } from '../src/wire/keys.ts'
import { importedBy, walkWithoutCircle } from './support/imports.ts'

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
    'slow-calls',
    'task-stats',
    'unanswered',
    'worker-look',
  ],
  redis: [
    'boot-check',
    'client',
    'slots',
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
    'beats',
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
    'registrar',
    'unanswered',
    'unanswered-report',
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
  ioredis: ['redis/target', 'redis/client', 'worker/roles/keepalive-thread'],
  croner: ['jobs/cron'],
  ajv: ['task/keywords/own', 'task/keywords/unevaluated', 'task/schema', 'task/schema-problems'],
  pino: ['outlets/log'],
  'hot-shots': ['outlets/statsd/hot-shots'],
  piscina: ['worker/threads/thread-pool', 'worker/threads/thread-run'],
  'unix-dgram': ['outlets/statsd/wire'],
  '@opentelemetry': ['outlets/tracing'],
  amqplib: ['forward/targets/amqp'],
  'wasmoon-lua5.1': ['testing/redis/lua-machine'],
  // In the text of a file that it writes.
  pshub: ['cli/first-files'],
  zod: ['cli/first-files'],
}

/** A file holds one idea: mostly 150 to 400 lines. */
const mostLines = 450
const folders = ['src', 'registry', 'test', 'bench', 'tools', 'clients', 'examples']
const isWritten = /\.(ts|tsx|mjs|cjs|js|py|rb|lua|css|sh|html)$/
/** Packages that are installed, what was built, and the Lua code that a build of the Ruby gem joins. */
const isMade =
  /(^|\/)(artifacts|node_modules|dist|build|\.venv|\.next|vendor|\.[\w-]+_cache|__pycache__)\/|(^|\/)(redis\/library|memory\/redis)\.lua$/

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => /\.(ts|mjs)$/.test(name))
const moduleOf = (file: string) => file.replace(/\.(ts|mjs)$/, '')
const texts = new Map(files.map(file => [file, readFileSync(join(source, file), 'utf8')]))
const textOf = (file: string) => texts.get(file)!
const codeOf = (file: string) => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
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

  it('import only from themselves and from rooms before them, through their doors', () => {
    const offences = files.flatMap(file => {
      const module = moduleOf(file)
      const room = roomOf(module)
      return local(file).flatMap(imported => {
        const other = roomOf(imported)
        if (room === undefined || imported.startsWith('..') || other === room) return []
        // The command line is made of what every user of the library has.
        if (imported === 'index') return room === 'cli' ? [] : [`${module} imports the index`]
        const isBefore = rooms.indexOf(other!) < rooms.indexOf(room)
        if (!isBefore) return [`${module} imports ${imported}, whose room is not before its own`]
        const isOpen = other === 'wire' || doors[other!]!.includes(imported.slice(other!.length + 1))
        return isOpen ? [] : [`${module} imports ${imported}, which is no door of its room`]
      })
    })
    expect(offences).toEqual([])
  })

  it('have no door that nobody uses', () => {
    const used = new Set(files.flatMap(file => local(file).filter(name => roomOf(name) !== roomOf(moduleOf(file)))))
    const all = Object.entries(doors).flatMap(([room, open]) => open.map(door => `${room}/${door}`))
    expect(all.filter(door => !used.has(door))).toEqual([])
  })

  it('can be looked over', () => {
    const sizes = rooms.map(room => ({
      room,
      size: files.filter(file => roomOf(moduleOf(file)) === room && file.split('/').length === 2).length,
    }))
    const odd = sizes.filter(({ room, size }) => size === 0 || (room !== 'cli' && size > mostInRoom))
    expect(odd, `rooms have 1 to ${mostInRoom} files`).toEqual([])
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

  it('import outside packages only where these belong', () => {
    const offences = files.flatMap(file =>
      importsOf(file)
        .filter(name => !name.startsWith('.') && !name.startsWith('node:'))
        .filter(name => !importers[name.split('/')[0]!]?.includes(moduleOf(file)))
        .map(name => `${file} imports ${name}`),
    )
    expect(offences).toEqual([])
  })
})

describe('files', () => {
  const written = folders.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => isWritten.test(name) && !isMade.test(name))
      .map(name => join(folder, name)),
  )

  it(`have at most ${mostLines} lines`, () => {
    const seen = folders.filter(folder => written.some(file => file.startsWith(`${folder}/`)))
    expect(seen).toEqual(folders)
    const long = written.filter(file => readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > mostLines)
    expect(long, 'split these by role').toEqual([])
  })

  it('only keys.ts writes a key name', () => {
    const key = /\}:(calls|jobs|bell|held|leases|pushed|cancelled|reporter|paused)\b|:reply:/
    expect(files.filter(name => name !== 'wire/keys.ts' && key.test(codeOf(name)))).toEqual([])
  })

  it('waits for nothing that the clock of a test could not move: timers are those of wire/timers.ts', () => {
    // Commands wait for people. What a test moves does not move by itself.
    const own = files.filter(name => name.endsWith('.ts') && !/^(cli|testing)\/|^wire\/timers/.test(name))
    for (const file of own) {
      const code = codeOf(file)
      if (/\b(set|clear)Timeout\(/.test(code)) expect(importsOf(file).join(' '), file).toMatch(/\btimers\.ts/)
      expect(code, file).not.toMatch(/from 'node:timers(?!\/promises')/)
    }
  })

  it('each function in Redis states the keys and arguments that it uses, and what it returns', () => {
    for (const name of readdirSync(join(source, 'queue/lua')).filter(name => /^(?!shared).*\.lua$/.test(name))) {
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
