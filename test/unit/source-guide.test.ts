import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const source = new URL('../../src/', import.meta.url)
const guide = readFileSync(new URL('README.md', source), 'utf8')
const path = /^(?:\.\.\/)?[\w-]+(?:\/[\w-]+)+\.(?:ts|tsx|lua|mjs)$/

describe('src/README.md', () => {
  it('names files that there are', () => {
    const files = [...guide.matchAll(/`([^`]+)`/g)].map(([, code]) => code!).filter(code => path.test(code))
    expect(files.length).toBeGreaterThan(50)
    for (const file of files) expect(existsSync(new URL(file, source)), file).toBe(true)
  })

  it('names what its files have', () => {
    const named = [...guide.matchAll(/`([\w./-]+\.ts)`\s`(\w+)`/g)]
    expect(named.length).toBeGreaterThan(25)
    for (const [, file, name] of named) {
      const text = readFileSync(new URL(file!, source), 'utf8')
      const isThere = new RegExp(`(?:const|async|interface|class) ${name}\\b|^ {2}(?:async )?${name}[(<]`, 'm')
      expect(text, `${name} in ${file}`).toMatch(isThere)
    }
  })

  it('lists the rooms and the functions, each of them', () => {
    const folders = readdirSync(source, { withFileTypes: true }).filter(entry => entry.isDirectory())
    const listed = [...guide.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, room]) => room)
    expect(listed.toSorted()).toEqual(folders.map(({ name }) => name).sort())
    for (const file of readdirSync(new URL('queue/lua/', source))) expect(guide).toContain(`\`queue/lua/${file}\``)
  })
})
