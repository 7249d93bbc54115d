import { parseSync } from 'vite'

/** A text that people may read: where it stands, and its words. */
export interface Said {
  line: number
  text: string
}

type Node = { type?: string; value?: unknown; start: number; quasis?: { value: { cooked: string } }[] } & Record<
  string,
  unknown
>

/** Texts in quotes, of templates and between tags. Names of imports and types are none. */
const ofTypeScript = (source: string, file: string): Said[] => {
  const said: Said[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type = '', value, start, quasis } = node as Node
    if (/^(?:Import|ExportAll|TS.*Type)/.test(type)) return
    const text = type === 'TemplateLiteral' ? quasis!.map(quasi => quasi.value.cooked).join('…') : value
    if (typeof text === 'string' && /^(?:Literal|JSXText|TemplateLiteral)$/.test(type))
      said.push({ line: source.slice(0, start).split('\n').length, text })
    for (const [name, inner] of Object.entries(node)) if (name !== 'quasis') visit(inner)
  }
  visit(parseSync(file, source).program)
  return said
}

const literals = {
  py: /#[^\n]*|(?<doc>^[ \t]*[rR]?(?:"""[\s\S]*?"""))|"""(?<long>[\s\S]*?)"""|"(?<double>(?:\\.|[^"\\\n])*)"|'(?<single>(?:\\.|[^'\\\n])*)'/gm,
  rb: /#[^\n]*|<<~(?<mark>[A-Z]+)[^\n]*\n(?<long>[\s\S]*?)\n *\k<mark>|"(?<double>(?:\\.|[^"\\\n])*)"|'(?<single>(?:\\.|[^'\\\n])*)'/g,
}

const ofScript = (source: string, language: keyof typeof literals): Said[] =>
  [...source.matchAll(literals[language])].flatMap(({ index, groups }) => {
    // What stands in braces is code in most of them, and no word of a sentence in the others.
    const text = (groups!.long ?? groups!.double ?? groups!.single)?.replace(/\{[^{}]*\}/g, '…')
    return text === undefined ? [] : [{ line: source.slice(0, index).split('\n').length, text }]
  })

/** The lines of a document, without its blocks of code and without names such as `twin?`. */
const ofMarkdown = (source: string): Said[] => {
  let isCode = false
  return source.split('\n').flatMap((text, at) => {
    if (/^\s*```/.test(text)) isCode = !isCode
    return isCode ? [] : [{ line: at + 1, text: text.replace(/`\S+`/g, '``') }]
  })
}

/** Texts of a file in the order in which they stand; docstrings and comments are none. */
export const stringsOf = (source: string, file: string): Said[] => {
  if (file.endsWith('.md')) return ofMarkdown(source)
  if (file.endsWith('.py')) return ofScript(source, 'py')
  return file.endsWith('.rb') ? ofScript(source, 'rb') : ofTypeScript(source, file)
}
