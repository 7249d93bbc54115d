import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeKeys } from '../src/wire/keys.ts'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'src')

/** The rooms of src, from the ground up: a room imports only from those before it. */
const rooms = [
  'wire',
  'task',
  'figures',
  'redis',
  'queue',
  'settings',
  'catalogue',
  'outlets',
  'jobs',
  'hub',
  'worker',
  'cli',
]

/** What other rooms may import of a room. All of `wire` is what everybody speaks. */
const doors: Record<string, string[]> = {
  task: ['task', 'schema', 'infer'],
  figures: ['callers', 'events', 'load', 'loop-delay', 'pulse', 'recent-failures', 'slow-calls', 'task-stats'],
  redis: ['boot-check', 'client', 'connection', 'connections', 'refusals', 'rights-check', 'rights', 'target'],
  queue: ['batches', 'pause', 'queue', 'scripts'],
  settings: ['read', 'statsd-address'],
  catalogue: ['call-lists', 'cards', 'catalogue', 'overview', 'registrar'],
  outlets: ['log', 'prometheus', 'statsd/statsd', 'task-log', 'tracing'],
  jobs: ['dead', 'held-job'],
  hub: ['hub', 'gather'],
  worker: ['worker'],
  cli: [],
}
/** So many files a newcomer can look over. The command line has one for each command. */
const mostInRoom = 20

/** The only importers of the outside packages. */
const importers: Record<string, string[]> = {
  ioredis: ['redis/target', 'redis/client', 'worker/roles/keepalive-thread'],
  ajv: ['task/schema'],
  'ajv-formats': ['task/schema'],
  pino: ['outlets/log'],
  'pino-pretty': ['outlets/log'],
  'hot-shots': ['outlets/statsd/meter'],
  'unix-dgram': ['outlets/statsd/wire'],
  '@opentelemetry': ['outlets/tracing'],
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name => /\.(ts|mjs)$/.test(name))
const moduleOf = (file: string) => file.replace(/\.(ts|mjs)$/, '')
const textOf = (file: string) => readFileSync(join(source, file), 'utf8')
const importedBy = (text: string) =>
  [...text.matchAll(/from '([^']+)'|(?:import|import\.meta\.url\))\('([^']+)'\)/g)].map(m => m[1] ?? m[2]!)
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
    const done = new Set<string>()
    const visit = (module: string, path: string[]): void => {
      if (done.has(module)) return
      if (path.includes(module)) throw new Error(`cycle: ${[...path.slice(path.indexOf(module)), module].join(' -> ')}`)
      for (const next of graph.get(module) ?? []) visit(next, [...path, module])
      done.add(module)
    }
    for (const module of graph.keys()) visit(module, [])
    expect(done.size).toBeGreaterThanOrEqual(files.length)
  })

  it.each(files)('%s imports outside packages only where they belong', file => {
    const packages = importsOf(file).filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    for (const name of packages) {
      const base = name.split('/')[0]!
      expect(importers[base], `${file} imports ${name}`).toContain(moduleOf(file))
    }
  })
})

describe('the registry', () => {
  const registry = join(root, 'registry')
  const packages = (folder: string) => {
    const names = readdirSync(join(registry, folder), { recursive: true, encoding: 'utf8' })
    return names
      .filter(name => /\.tsx?$/.test(name))
      .flatMap(name => {
        const path = join(registry, folder, name)
        return importedBy(readFileSync(path, 'utf8')).map(imported => ({ file: join(folder, name), path, imported }))
      })
  }
  const isWithin = (path: string, imported: string, ...places: string[]) => {
    const target = relative(registry, resolve(dirname(path), imported))
    return places.some(place => target === place || target.startsWith(`${place}/`))
  }

  it('has a service of node, fastify, the public library and its own files', () => {
    const known = /^(node:.+|pshub|fastify|@fastify\/(cookie|rate-limit))$/
    const all = packages('server')
    expect(all.length).toBeGreaterThan(50)
    for (const { file, path, imported } of all) {
      const isKnown = imported.startsWith('.')
        ? isWithin(path, imported, 'server', 'contract.ts')
        : known.test(imported)
      expect(isKnown, `${file} imports ${imported}`).toBe(true)
    }
  })

  it('has pages of their own files, the contract and their packages', () => {
    const known = /^(preact|preact-iso|@preact\/signals|@cfworker\/json-schema|uplot|marked)(\/.+)?$/
    for (const { file, path, imported } of packages('web')) {
      const isKnown = imported.startsWith('.')
        ? isWithin(path, imported, 'web', 'schema-diff', 'contract.ts')
        : known.test(imported)
      expect(isKnown || imported === 'pshub', `${file} imports ${imported}`).toBe(true)
    }
  })

  it('compares schemas without anything else', () => {
    for (const { file, path, imported } of packages('schema-diff'))
      expect(isWithin(path, imported, 'schema-diff'), `${file} imports ${imported}`).toBe(true)
  })

  it('has pages that take only types of the library', () => {
    for (const { file, path } of packages('web').filter(({ imported }) => imported === 'pshub'))
      expect(readFileSync(path, 'utf8'), file).not.toMatch(/import (?!type)[^\n]* from 'pshub'/)
  })

  /** Rooms of the pages, lowest first: a file imports from its own room and from those before it. */
  const rooms = [
    // Need nothing: words and figures, what an address says, colours and sheets.
    'text',
    'address',
    'looks',
    // What the service says: to whom, what is so now, and which of it in which order.
    'session',
    'live',
    'rows',
    // What pages are made of.
    'parts',
    'charts',
    'tables',
    'frame',
    // A form for any schema; its controls do not know what draws their parts.
    'form/model',
    'form/check',
    'form/shared',
    'form/controls',
    'form',
    // Running a task: what is read and written, then runs, then what is made of them.
    'try-it/json',
    'try-it/schema',
    'try-it/parts',
    'try-it/run',
    'try-it/arguments',
    'try-it/outcome',
    'try-it/history',
    'try-it/snippets',
    'try-it',
    'versions',
    'pages',
  ]
  const entry = 'main.tsx'

  /** With sheets, and with what runs beside the page. */
  const importsOfFile = (path: string) => {
    const text = readFileSync(path, 'utf8')
    const bare = [...text.matchAll(/^import '([^']+)'/gm)].map(match => match[1]!)
    return [...importedBy(text), ...bare]
      .filter(name => name.startsWith('.'))
      .map(name => relative(registry, resolve(dirname(path), name.replace(/\?.*/, ''))))
  }
  const filesOf = (...folders: string[]) =>
    folders.flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => /\.(tsx?|mjs|cjs|css|py)$/.test(name))
        .map(name => join(folder, name)),
    )
  const modules = filesOf('registry')
    .filter(name => /\.tsx?$/.test(name))
    .map(name => relative('registry', name))

  /** The innermost room that holds a file of the pages. */
  const roomOf = (file: string) => {
    const around = rooms.filter(room => file.startsWith(`web/${room}/`))
    return around.sort((a, b) => b.length - a.length)[0]
  }

  it('has pages in rooms, each importing only from those before it', () => {
    const pages = modules.filter(file => file.startsWith('web/') && file !== `web/${entry}`)
    const inhabited = new Set(pages.map(roomOf))
    for (const room of rooms) expect(inhabited.has(room), `the room ${room} is empty`).toBe(true)
    for (const file of pages) {
      const room = roomOf(file)
      expect(room, `${file} is in no room`).toBeDefined()
      for (const imported of importsOfFile(join(registry, file)).filter(name => name.startsWith('web/'))) {
        const other = roomOf(imported)
        expect(other, `${file} imports ${imported}, which is in no room`).toBeDefined()
        expect(rooms.indexOf(other!), `${file} imports ${imported}`).toBeLessThanOrEqual(rooms.indexOf(room!))
      }
    }
  })

  it('has no import cycle', () => {
    const graph = new Map(modules.map(file => [file, importsOfFile(join(registry, file))]))
    const done = new Set<string>()
    const visit = (file: string, path: string[]): void => {
      if (done.has(file)) return
      if (path.includes(file)) throw new Error(`cycle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`)
      for (const next of graph.get(file) ?? []) visit(next, [...path, file])
      done.add(file)
    }
    for (const file of modules) visit(file, [])
    expect(modules.length).toBeGreaterThan(200)
  })

  it('has no file of more than 300 lines, and its tests get no longer help', () => {
    for (const file of filesOf('registry', 'test/support')) {
      const lines = readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length
      expect(lines, file).toBeLessThanOrEqual(300)
    }
  })
})

describe('files', () => {
  it.each(files)('%s has at most 300 lines', file => {
    expect(textOf(file).split('\n').length).toBeLessThanOrEqual(300)
  })

  it('only keys.ts writes a key name', () => {
    for (const file of files.filter(name => name !== 'wire/keys.ts')) {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      expect(code, file).not.toMatch(/\}:(calls|jobs|bell|held|leases|pushed|cancelled|reporter|paused)\b|:reply:/)
    }
  })

  it('each Lua script states its keys, arguments and returns', () => {
    for (const name of readdirSync(join(source, 'queue/lua'))) {
      const header = readFileSync(join(source, 'queue/lua', name), 'utf8').split(/\n(?!--)/)[0]!
      expect(header, name).toMatch(/^-- \w+: /)
      for (const part of ['KEYS[1]', 'ARGV[1]', 'Returns']) expect(header, name).toContain(part)
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
