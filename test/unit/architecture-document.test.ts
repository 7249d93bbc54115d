import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { read } from '../support/protocol-document.ts'

const root = join(import.meta.dirname, '../..')
const guide = read('docs/architecture.md')
/** Folders of the repository's root, which a path begins with. */
const folders = readdirSync(root, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)
const names = [...guide.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)

describe('docs/architecture.md', () => {
  it('names files and folders that there are', () => {
    const paths = names
      .flatMap(code => code.split(' '))
      .filter(code => folders.includes(code.split('/')[0]!) || /^[A-Z]+\.md$/.test(code))
    expect(paths.length).toBeGreaterThan(60)
    for (const path of paths) expect(existsSync(join(root, path)), path).toBe(true)
  })

  it('names each room of src, and each folder of tests but support', () => {
    const within = (path: string) =>
      readdirSync(join(root, path), { withFileTypes: true }).filter(entry => entry.isDirectory())
    for (const { name } of within('src')) expect(names, name).toContain(name)
    for (const { name } of within('test'))
      if (!['support', 'artifacts'].includes(name)) expect(names, name).toContain(`test/${name}`)
  })

  it('names commands that there are', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const used = [...guide.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name!)
    expect(used.length).toBeGreaterThan(2)
    for (const name of used) expect(Object.keys(scripts)).toContain(name)
  })
})
