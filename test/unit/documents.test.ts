import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { errorTable } from '../../src/wire/errors.ts'
import { codeBlocks, documents } from '../support/code-blocks.ts'
import { read, root, rowsOf, section, unquoted } from '../support/protocol-document.ts'

/** As GitHub makes them of headings. */
const anchorsOf = (document: string) =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

it('every link in README and docs leads to a file and a heading', () => {
  const broken: string[] = []
  let count = 0
  for (const document of documents)
    for (const [link, path, anchor] of read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path === '' ? document : join(dirname(document), path!)
      const isThere = existsSync(join(fileURLToPath(root), target))
      if (!isThere || (anchor !== undefined && !anchorsOf(target).includes(anchor))) broken.push(`${document}: ${link}`)
      count++
    }
  expect(broken).toEqual([])
  expect(count).toBeGreaterThan(100)
})

it('JSON in README and docs can be parsed', () => {
  const blocks = codeBlocks().filter(({ language, isOutline }) => language === 'json' && !isOutline)
  expect(blocks.length).toBeGreaterThan(0)
  for (const { document, line, text } of blocks) expect(() => JSON.parse(text), `${document}:${line}`).not.toThrow()
})

it('docs/when-it-fails.md explains every error code', () => {
  const codes = rowsOf(section('Codes of errors', read('docs/when-it-fails.md'))).map(([code]) => unquoted(code!))
  expect(codes.sort()).toEqual(Object.keys(errorTable).sort())
})
