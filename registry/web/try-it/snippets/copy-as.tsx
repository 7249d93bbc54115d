import { useMemo, useState } from 'preact/hooks'
import { type Judged, withPlaceholders } from '../../../schema/secrets.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { type CallToWrite, snippets } from './texts.ts'

/**
 * The call in the form as a program or a command line makes it, without having been run. Secrets are written into it only when
 * somebody asks for that: commands are kept in histories of shells, and sent to others.
 */
export const CopyAs = ({ call, judged }: { call: CallToWrite; judged: Judged }) => {
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(snippets[0]!.name)
  const snippet = snippets.find(({ name }) => name === chosen)!
  const [isPlain, setPlain] = useState(false)
  const hidden = useMemo(() => withPlaceholders(judged, call.args), [judged, call.args])
  const text = () => snippet.of(isPlain ? call : { ...call, args: hidden.value })
  return (
    <details class="fold" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Copy as</summary>
      {isOpen && (
        <Tabs
          label="Language"
          tabs={snippets.map(({ name }) => ({ id: name, name }))}
          chosen={chosen}
          onChoose={setChosen}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre class="snippet" tabIndex={0}>
            {call.args === undefined ? 'There are no arguments yet.' : text()}
          </pre>
          <CopyButton label={`Copy ${chosen}`} text={text} />
          {!hidden.isWhole && (
            <label>
              <input type="checkbox" checked={isPlain} onChange={event => setPlain(event.currentTarget.checked)} /> fill
              in values that may be secret
            </label>
          )}
          {chosen === 'curl' && <p class="quiet">PSHUB_TOKEN is the token you logged in with.</p>}
          {chosen !== 'curl' && <p class="quiet">Insert the address of your Redis.</p>}
        </Tabs>
      )}
    </details>
  )
}
