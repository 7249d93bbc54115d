import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importedBy, walkWithoutCircle } from './support/imports.ts'

const root = resolve(import.meta.dirname, '..')

describe('the registry', () => {
  const registry = join(root, 'registry')
  const contracts = ['contract.ts', 'call-contract.ts', 'job-contract.ts', 'login-contract.ts', 'search-contract.ts']
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
    const known = /^(node:.+|pshub(\/http)?|fastify|openid-client|@fastify\/(cookie|rate-limit))$/
    const all = packages('server')
    expect(all.length).toBeGreaterThan(50)
    for (const { file, path, imported } of all) {
      const isKnown = imported.startsWith('.')
        ? isWithin(path, imported, 'server', 'schema', ...contracts)
        : known.test(imported)
      // The SDK is loaded late, by those who have it; others take its types.
      const isSdk = imported.startsWith('@modelcontextprotocol/sdk/') && file.startsWith('server/mcp/')
      expect(isKnown || isSdk, `${file} imports ${imported}`).toBe(true)
    }
  })

  it('loads the SDK for agents in one place, late', () => {
    for (const { file, path } of packages('server').filter(({ imported }) => imported.startsWith('@modelcontext')))
      expect(readFileSync(path, 'utf8'), file).not.toMatch(/import (?!type)[^\n(]* from '@modelcontextprotocol/)
  })

  it('has pages of their own files, the contract and their packages', () => {
    const known = /^(preact|preact-iso|@preact\/signals|@cfworker\/json-schema|uplot|marked)(\/.+)?$/
    for (const { file, path, imported } of packages('web')) {
      const isKnown = imported.startsWith('.')
        ? isWithin(path, imported, 'web', 'schema', '../src/schema-diff', '../src/wire/text', ...contracts)
        : known.test(imported)
      expect(isKnown || imported === 'pshub', `${file} imports ${imported}`).toBe(true)
    }
  })

  it('takes code from the library that needs nothing else', () => {
    for (const room of ['../src/schema-diff', '../src/wire/text'])
      for (const { file, path, imported } of packages(room))
        expect(isWithin(path, imported, room), `${file} imports ${imported}`).toBe(true)
  })

  it('reads schemas, for the service and for the pages, without either of them', () => {
    for (const { file, path, imported } of packages('schema'))
      expect(
        isWithin(path, imported, 'schema') || imported === 'pshub/schema-diff',
        `${file} imports ${imported}`,
      ).toBe(true)
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
    // JSON as it was written: read, shown and compared.
    'json',
    // What the service says: to whom, what is so now, and which of it in which order.
    'session',
    'live',
    'rows',
    // What pages are made of.
    'parts',
    'charts',
    'tables',
    // What searches everything, and keeps filters under names.
    'palette',
    'frame',
    // A form for any schema; its controls do not know what draws their parts.
    'form/model',
    'form/check',
    'form/shared',
    'form/controls',
    'form',
    // Running a task: what is read and written, then runs, then what is made of them.
    'try-it/schema',
    'try-it/parts',
    'try-it/run',
    'try-it/completion',
    'try-it/arguments',
    'try-it/outcome',
    'try-it/history',
    'try-it/templates',
    'try-it/snippets',
    'try-it/background',
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
        .filter(name => /\.(tsx?|mjs|cjs|css|py)$/.test(name) && !/^(dist|node_modules)\//.test(name))
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
    walkWithoutCircle(new Map(modules.map(file => [file, importsOfFile(join(registry, file))])))
    expect(modules.length).toBeGreaterThan(200)
  })
})
