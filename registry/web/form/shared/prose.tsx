import type { ComponentChildren } from 'preact'

// Bounded, so that a text of opening brackets is not looked through from each of them.
const parts =
  /`([^`\n]{1,500})`|\[([^[\]\n]{1,200})\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>"'`)]+[^\s<>"'`).,;:!?])/g

/** Somebody else's text: code between backticks and links to http addresses are shown as such, all else as it stands. */
export const Prose = ({ text }: { text: string }) => {
  const shown: ComponentChildren[] = []
  let from = 0
  const bounded = text.slice(0, 4_000)
  for (const match of bounded.matchAll(parts)) {
    const [whole, code, label, target, bare] = match
    shown.push(bounded.slice(from, match.index))
    from = match.index + whole.length
    if (code !== undefined) shown.push(<code>{code}</code>)
    else shown.push(<Link href={target ?? bare ?? ''} text={label ?? bare ?? ''} />)
  }
  shown.push(bounded.slice(from), bounded.length < text.length ? ' ...' : '')
  return <>{shown}</>
}

const Link = ({ href, text }: { href: string; text: string }) => (
  <a href={href} target="_blank" rel="noopener noreferrer nofollow">
    {text}
  </a>
)
