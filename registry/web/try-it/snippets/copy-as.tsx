import { useState } from 'preact/hooks'
import { CopyButton } from '../parts/copy-button.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { type CallToWrite, snippets } from './texts.ts'

/** The call in the form as a program or a command line makes it, without having been run. */
export const CopyAs = ({ call }: { call: CallToWrite }) => {
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(snippets[0]!.name)
  const snippet = snippets.find(({ name }) => name === chosen)!
  const text = () => snippet.of(call)
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
          {chosen === 'curl' && <p class="quiet">PSHUB_TOKEN is the token you signed in with.</p>}
          {chosen !== 'curl' && <p class="quiet">Put in the address of your Redis.</p>}
        </Tabs>
      )}
    </details>
  )
}
