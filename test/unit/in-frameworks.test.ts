import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { codeBlocks } from '../support/code-blocks.ts'

const docs = resolve(import.meta.dirname, '../../docs')
const lines = readFileSync(join(docs, 'in-frameworks.md'), 'utf8').split('\n')

/** Each piece of code, with the file that is named last before it. */
const pieces = codeBlocks()
  .filter(({ document, language }) => document === 'docs/in-frameworks.md' && language !== 'json')
  .map(({ line, text }) => {
    const named = [
      ...lines
        .slice(0, line)
        .join('\n')
        .matchAll(/\]\((\.\.\/examples\/[^)]+)\)/g),
    ]
    return { file: named.at(-1)![1]!, text }
  })

it('docs/in-frameworks.md has code of each framework', () => {
  const frameworks = pieces.map(({ file }) => file.split('/')[2])
  expect(frameworks).toEqual(['express', 'express', 'fastify', 'next', 'django', 'django', 'flask', 'rails', 'rails'])
})

it.each(pieces)('docs/in-frameworks.md has what is in $file', ({ file, text }) => {
  expect(readFileSync(join(docs, file), 'utf8')).toContain(text)
})
