import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { documents as guides } from '../support/code-blocks.ts'
import { read, root, rowsOf, section } from '../support/protocol-document.ts'
import { stringsOf } from '../support/strings-of.ts'

/** Documents that keep to the glossary; PROTOCOL.md and two guides do not yet. */
const documents = [
  ...guides.filter(file => !['docs/measuring.md', 'docs/recipes.md'].includes(file)),
  ...['demo', 'django', 'express', 'fastify', 'flask', 'next', 'rails'].map(name => `examples/${name}/README.md`),
  ...['clients/python/README.md', 'clients/ruby/README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
]
/** Folders whose texts people see: messages, log lines, help, labels. */
const folders = ['src', 'registry/server', 'registry/web', 'clients/python/src', 'clients/ruby/lib']

const glossary = section('Words we do not use', read('docs/concepts.md'))
const retired = rowsOf(glossary).flatMap(([words]) => words!.split(', '))
const isRetired = new RegExp(`\\b(?:${retired.join('|')})\\b`, 'i')

const sources = () =>
  folders.flatMap(folder =>
    readdirSync(join(fileURLToPath(root), folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(?:ts|tsx|mjs|py|rb)$/.test(name) && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
      .map(name => `${folder}/${name}`),
  )

/** Words for programs, such as `put_off` and `'told'`, are names. */
const isProse = (text: string) => /[a-z] [a-z]/i.test(text)

it('users read the words of the glossary', () => {
  const files = sources()
  expect(files.length).toBeGreaterThan(700)
  const offences = [...files, ...documents].flatMap(file => {
    const source = readFileSync(new URL(file, root), 'utf8').replace(glossary, text => text.replace(/[^\n]/g, ' '))
    return stringsOf(source, file).flatMap(({ line, text }) => {
      const word = isProse(text) ? isRetired.exec(text)?.[0] : undefined
      return word === undefined ? [] : [`${file}:${line}: '${word}' in: ${text.trim().slice(0, 120)}`]
    })
  })
  expect(offences, 'docs/concepts.md, "Words we do not use", has the words to write').toEqual([])
})
