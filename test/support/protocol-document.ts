import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

/** PROTOCOL.md as tests read it: its sections, tables and examples. */
export const root = new URL('../../', import.meta.url)
export const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
export const protocol = read('PROTOCOL.md')

/** The text under a heading, up to the next one of the same or a higher level. */
export const section = (title: string, document = protocol): string => {
  const lines = document.split('\n')
  const start = lines.findIndex(line => /^#+ /.test(line) && line.endsWith(title))
  expect(start, `there is no section '${title}'`).toBeGreaterThan(0)
  const level = lines[start]!.indexOf(' ')
  const length = lines.slice(start + 1).findIndex(line => /^#+ /.test(line) && line.indexOf(' ') <= level)
  return lines.slice(start, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** The rows of a section's first table, without its head. */
export const rowsOf = (text: string): string[][] => {
  const lines = text.split('\n')
  const start = lines.findIndex(line => line.startsWith('| ---'))
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'))
  return lines.slice(start + 1, end === -1 ? undefined : end).map(line =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map(cell => cell.trim().replaceAll('\\|', '|')),
  )
}

/** A cell's text without its code marks. */
export const unquoted = (cell: string) => cell.replaceAll('`', '')

/** The one-line JSON examples of a kind. */
export const examples = (kind: string) =>
  [...protocol.matchAll(new RegExp(`^\`\`\`json ${kind}\\n(.*)\\n\`\`\`$`, 'gm'))].map(match => match[1]!)
