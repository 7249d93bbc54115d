import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-5.4'
import { describe, expect, it } from 'vitest'
import { errorTable } from '../../src/wire/errors.ts'
import { read } from '../support/protocol-document.ts'

const root = join(import.meta.dirname, '../..')
const levels = new Set(['warn', 'error', 'fatal'])
/** What a thread writes while the loop stands still, by the numbers of pino. */
const levelNumbers: Record<string, string> = { 40: 'warn', 50: 'error', 60: 'fatal' }

/** The words of a text; what is put in is `…`. */
const wordsOf = (node: ts.Node | undefined): string | undefined => {
  if (!node) return undefined
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isTemplateExpression(node)) return undefined
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')
}

/** In `lines` of the log. */
const isInTable = (node: ts.Node): boolean =>
  node.parent !== undefined &&
  (ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() === 'lines' : isInTable(node.parent))

/** A line as `level words`, where this is the call or the row of a table that makes it. */
const lineOf = (node: ts.Node): string | undefined => {
  if (ts.isArrayLiteralExpression(node)) {
    const [level, words] = node.elements.map(wordsOf)
    return level && levels.has(level) && isInTable(node) ? `${level} ${words}` : undefined
  }
  if (!ts.isCallExpression(node)) return undefined
  if (node.expression.getText() === 'rawLine')
    return `${levelNumbers[node.arguments[0]!.getText()]} ${wordsOf(node.arguments[1])}`
  if (!ts.isPropertyAccessExpression(node.expression) || !levels.has(node.expression.name.text)) return undefined
  if (!/(?:^|\.|#)(?:log|logger)$/.test(node.expression.expression.getText())) return undefined
  const words = node.arguments.map(wordsOf).find(each => each !== undefined)
  return `${node.expression.name.text} ${words ?? node.getText()}`
}

/** Where a `problem` was. */
const whereOf = (node: ts.Node): string | undefined => {
  if (ts.isPropertyAssignment(node) && node.name.getText() === 'where') return wordsOf(node.initializer)
  if (ts.isNewExpression(node) && node.expression.getText() === 'Alarm') return wordsOf(node.arguments?.[1])
  if (!ts.isCallExpression(node) || !/(?:^|\.)problem$/.test(node.expression.getText())) return undefined
  return wordsOf(node.arguments[0])
}

const gathered = (folder: string, pick: (node: ts.Node) => string | undefined): string[] => {
  const found = new Set<string>()
  for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (!/\.ts$/.test(file)) continue
    const text = readFileSync(join(root, folder, file), 'utf8')
    const visit = (node: ts.Node): void => {
      const told = pick(node)
      if (told !== undefined) found.add(told)
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  }
  return [...found]
}

/** The rows under a heading of the guide. */
const rowsOf = (heading: string): string[] => {
  const [, part = ''] = read('docs/when-it-fails.md').split(`\n## ${heading}\n`)
  return part
    .split('\n## ')[0]!
    .split('\n')
    .filter(line => line.startsWith('| '))
    .slice(2)
}

const linesInGuide = () =>
  rowsOf('Lines of the log').map(row => {
    const [, level, words] = /^\| (\w+) \| (?:`[\w:]+`: )?`([^`]+)` \|/.exec(row) ?? [row, row]
    return `${level} ${words}`
  })

const firstCode = (row: string) => /^\| `([^`]+)`/.exec(row)?.[1]

describe('docs/when-it-fails.md', () => {
  it('has each code of an error, and no other', () => {
    expect(rowsOf('Codes of errors').map(firstCode).sort()).toEqual(Object.keys(errorTable).sort())
  })

  it('has each line of the log at warn and above, and no other', () => {
    const lines = ['src', 'registry/server'].flatMap(folder => gathered(folder, lineOf))
    expect(lines.length).toBeGreaterThan(20)
    expect(linesInGuide().toSorted()).toEqual(lines.toSorted())
  })

  it.each([
    ['clients/python/src/pshub/outlets/log.py', /\(_(WARN|ERROR), f?"([^"]+)"/g],
    ['clients/ruby/lib/pshub/outlets/log.rb', /\[:(warn|error), "([^"]+)"\]/g],
  ])('has the lines of %s', (file, line) => {
    const lines = [...read(file).matchAll(line)].map(([, level, words]) => `${level!.toLowerCase()} ${words}`)
    expect(lines.length).toBeGreaterThan(8)
    for (const told of lines) expect(linesInGuide()).toContain(told)
  })

  it('has each place of a problem, and no other', () => {
    expect(rowsOf('Problems').map(firstCode).sort()).toEqual(gathered('src', whereOf).sort())
  })

  it('says what to do in each row', () => {
    const rows = ['Codes of errors', 'Lines of the log', 'Problems'].flatMap(rowsOf)
    for (const row of rows) expect(row.split(' | ').at(-2)!.length, row).toBeGreaterThan(5)
  })
})
