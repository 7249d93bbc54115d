import type { ChangeKind, SchemaChange } from '../../../src/schema-diff/index.ts'
import { printable } from '../text/printable.ts'

const kindWords: Record<ChangeKind, string> = {
  breaks: 'breaks callers',
  unclear: 'needs review',
  fits: 'safe',
}

const signs: Record<ChangeKind, string> = { breaks: '✕', unclear: '?', fits: '✓' }

export const KindBadge = ({ kind }: { kind: ChangeKind }) => (
  <span class="change-kind" data-kind={kind}>
    <span aria-hidden="true">{signs[kind]} </span>
    {kindWords[kind]}
  </span>
)

const order: Record<ChangeKind, number> = { breaks: 0, unclear: 1, fits: 2 }

/** Changes of one kind of thing, the worst first. */
export const ChangeList = ({ title, changes }: { title: string; changes: readonly SchemaChange[] }) => {
  if (changes.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <ul class="change-list">
        {[...changes]
          .sort((a, b) => order[a.kind] - order[b.kind])
          .map(({ pointer, kind, text }) => (
            <li key={`${kind} ${pointer} ${text}`}>
              <KindBadge kind={kind} />
              <span class="wrap">
                {pointer !== '' && <code>{printable(pointer)}</code>} {printable(text)}
              </span>
            </li>
          ))}
      </ul>
    </>
  )
}
