import { lexer, type Token, type Tokens } from 'marked'
import type { ComponentChild } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { safeAddress } from '../address/safe.ts'
import { piecesOf } from '../text/pieces.ts'
import { printable, printableLines } from '../text/printable.ts'

/** Longer ones are cut: they come from strangers. */
const maxLength = 20_000
const maxDepth = 12

/**
 * A description in Markdown, as elements made here one by one: HTML in it stays text, links go nowhere but to http and https,
 * images are links, and nothing is loaded. A long one is shown piece by piece, when it is asked for.
 */
export const Markdown = ({ children: text }: { children: string }) => {
  const pieces = useMemo(() => piecesOf(text.slice(0, maxLength)), [text])
  const [shown, setShown] = useState(1)
  // Another text begins from its own beginning.
  useEffect(() => setShown(1), [text])
  const left = pieces.length - shown
  return (
    <div class="markdown">
      {pieces.slice(0, shown).map((piece, at) => (
        <Piece key={at} text={piece} />
      ))}
      {left > 0 && (
        <button type="button" class="small" onClick={() => setShown(shown + 1)}>
          Show more
        </button>
      )}
      {left <= 0 && text.length > maxLength && <p class="quiet">Cut after {maxLength} characters.</p>}
    </div>
  )
}

const Piece = ({ text }: { text: string }) => {
  const drawn = useMemo(() => blocks(outlined(tokensOf(text)), 0), [text])
  return <>{drawn}</>
}

const tokensOf = (text: string): Token[] => {
  try {
    return lexer(text, { gfm: true })
  } catch {
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] }]
  }
}

/** Headings get the level that they have among each other, because writers begin with any: none is left out. */
const outlined = (tokens: Token[]): Token[] => {
  const above: number[] = []
  const visit = (some: readonly Token[], depth: number): void => {
    if (depth > maxDepth) return
    for (const token of some) {
      if (token.type === 'heading') {
        while (above.length > 0 && above.at(-1)! >= token.depth) above.pop()
        token.depth = above.push(token.depth)
      } else visit(('items' in token ? token.items : 'tokens' in token ? token.tokens : undefined) ?? [], depth + 1)
    }
  }
  visit(tokens, 0)
  return tokens
}

const blocks = (tokens: readonly Token[] = [], depth: number): ComponentChild[] =>
  depth > maxDepth ? [] : tokens.map((token, key) => block(token, key, depth))

const block = (token: Token, key: number, depth: number): ComponentChild => {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      return heading(token as Tokens.Heading, key, depth)
    case 'code':
      return (
        <pre key={key}>
          <code>{printableLines(token.text)}</code>
        </pre>
      )
    case 'blockquote':
      return <blockquote key={key}>{blocks(token.tokens, depth + 1)}</blockquote>
    case 'list':
      return list(token as Tokens.List, key, depth)
    case 'table':
      return table(token as Tokens.Table, key, depth)
    case 'hr':
      return <hr key={key} />
    case 'html':
      return <p key={key}>{printableLines(token.raw)}</p>
    case 'paragraph':
      return <p key={key}>{inlines(token.tokens, depth)}</p>
    default:
      return <span key={key}>{inline(token, key, depth)}</span>
  }
}

/** The page has the first level, its parts the second: a description begins below them. */
const heading = ({ depth: level, tokens }: Tokens.Heading, key: number, depth: number): ComponentChild => {
  const Heading = (['h3', 'h4', 'h5', 'h6'] as const)[Math.min(level - 1, 3)] ?? 'h3'
  return <Heading key={key}>{inlines(tokens, depth)}</Heading>
}

const list = ({ ordered, start, items }: Tokens.List, key: number, depth: number): ComponentChild => {
  const children = items.map((item, at) => (
    <li key={at}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled />}
      {blocks(item.tokens, depth + 1)}
    </li>
  ))
  if (!ordered) return <ul key={key}>{children}</ul>
  return (
    <ol key={key} start={Number(start) || 1}>
      {children}
    </ol>
  )
}

const table = ({ header, rows }: Tokens.Table, key: number, depth: number): ComponentChild => (
  <div key={key} class="scroll">
    <table>
      <thead>
        <tr>
          {header.map((cell, at) => (
            <th key={at} scope="col">
              {inlines(cell.tokens, depth)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map((cell, at) => (
              <td key={at}>{inlines(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const inlines = (tokens: readonly Token[] = [], depth: number): ComponentChild[] =>
  depth > maxDepth ? [] : tokens.map((token, key) => inline(token, key, depth + 1))

const inline = (token: Token, key: number, depth: number): ComponentChild => {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inlines(token.tokens, depth)}</strong>
    case 'em':
      return <em key={key}>{inlines(token.tokens, depth)}</em>
    case 'del':
      return <del key={key}>{inlines(token.tokens, depth)}</del>
    case 'codespan':
      return <code key={key}>{printable(token.text)}</code>
    case 'br':
      return <br key={key} />
    case 'link':
      return link(token as Tokens.Link, inlines(token.tokens, depth), key)
    case 'image':
      return link(token as Tokens.Image, [printable(token.text || 'image')], key)
    case 'text':
      return 'tokens' in token && token.tokens ? (
        <span key={key}>{inlines(token.tokens, depth)}</span>
      ) : (
        printableLines(token.text)
      )
    case 'escape':
      return printable(token.text)
    case 'checkbox':
      return null
    default:
      return printableLines(token.raw)
  }
}

const link = ({ href }: { href: string }, children: ComponentChild[], key: number): ComponentChild => {
  const address = safeAddress(href)
  if (address === undefined) return <span key={key}>{children}</span>
  return (
    <a key={key} href={address} rel="noopener noreferrer nofollow" target="_blank" title={printable(address)}>
      {children}
    </a>
  )
}
