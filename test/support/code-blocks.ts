import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** README and the guides. */
export const documents: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

/** A piece of code in one of them. */
export interface Block {
  document: string
  line: number
  language: string
  /** It is parsed, and not run. */
  isOutline: boolean
  text: string
}

const blocksOf = (document: string): Block[] => {
  const blocks: Block[] = []
  let text: string[] | undefined
  for (const [at, line] of readFileSync(join(root, document), 'utf8').split('\n').entries()) {
    const fence = /^```(\S*)( outline)?$/.exec(line)
    if (!fence) text?.push(line)
    else if (text) {
      blocks.at(-1)!.text = `${text.join('\n')}\n`
      text = undefined
    } else {
      blocks.push({ document, line: at + 1, language: fence[1]!, isOutline: fence[2] !== undefined, text: '' })
      text = []
    }
  }
  return blocks
}

/** All code in the documents. */
export const codeBlocks = (): Block[] => documents.flatMap(blocksOf)
