import { useMemo, useState } from 'preact/hooks'
import { changesBetween, type JsonChange } from '../../json/changes.ts'
import { tablesIn } from '../../json/table.ts'
import type { JsonNode } from '../../json/text.ts'
import { JsonTree, shortJson } from '../../json/tree.tsx'
import { download } from '../../parts/download.ts'
import { bytes } from '../../text/figures.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { type TabChoice, Tabs } from '../parts/tabs.tsx'
import type { FinishedRun } from '../run/finished.ts'
import { ResultTable } from './result-table.tsx'

interface ResultProps {
  task: string
  text: string
  node: JsonNode | undefined
  /** The last successful run before it. */
  previous: FinishedRun | undefined
}

/** What a task returned: as a tree, as a table where it is a list of objects, as it came, and beside what it returned before. */
export const Result = ({ task, text, node, previous }: ResultProps) => {
  const [chosen, setChosen] = useState('pretty')
  const before = previous?.outcome.ok ? previous.outcome.node : undefined
  const tables = useMemo(() => (node ? tablesIn(node) : []), [node])
  const tabs: TabChoice[] = [
    { id: 'pretty', name: 'Pretty', refusal: node ? undefined : 'The result is not JSON.' },
    ...(tables.length > 0 ? [{ id: 'table', name: 'Table' }] : []),
    { id: 'raw', name: 'Raw' },
    { id: 'changes', name: 'Changes', refusal: before && node ? undefined : 'There is no previous run.' },
  ]
  const isShown = (tab: TabChoice) => tab.id === chosen && tab.refusal === undefined
  const shown = tabs.find(isShown)?.id ?? (node ? 'pretty' : 'raw')
  return (
    <div class="result">
      <div class="result-tools">
        <span class="quiet">{bytes(new TextEncoder().encode(text).length)}</span>
        <CopyButton label="Copy result" text={() => text} />
        <button type="button" onClick={() => download(`${task.replace(/[^\w.-]/g, '-')}.json`, text)}>
          Download
        </button>
      </div>
      <Tabs label="View of the result" tabs={tabs} chosen={shown} onChoose={setChosen}>
        {shown === 'pretty' && node && <JsonTree node={node} />}
        {shown === 'table' && <ResultTable tables={tables} />}
        {shown === 'raw' && <Raw text={text} />}
        {shown === 'changes' && node && before && <Changes before={before} after={node} />}
      </Tabs>
    </div>
  )
}

const maxRawLength = 200_000

const Raw = ({ text }: { text: string }) => (
  <>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <pre class="raw" tabIndex={0}>
      {text.slice(0, maxRawLength)}
    </pre>
    {text.length > maxRawLength && (
      <p class="quiet">This shows the first {maxRawLength.toLocaleString('en')} characters. Download has all.</p>
    )}
  </>
)

const Changes = ({ before, after }: { before: JsonNode; after: JsonNode }) => {
  const { changes, isComplete } = changesBetween(before, after)
  if (changes.length === 0 && isComplete) return <p>Same as the previous run.</p>
  return (
    <>
      <p>
        {changes.length} {changes.length === 1 ? 'place differs' : 'places differ'} from the previous run
        {isComplete ? '.' : '; there are more.'}
      </p>
      <ul class="changes">
        {changes.map(change => (
          <li key={change.pointer}>
            <code>{change.pointer === '' ? 'the whole result' : change.pointer}</code> <Change {...change} />
          </li>
        ))}
      </ul>
    </>
  )
}

const Change = ({ before, after }: JsonChange) => {
  if (!before && after)
    return (
      <>
        is new: <ins>{shortJson(after)}</ins>
      </>
    )
  if (before && !after)
    return (
      <>
        is gone: <del>{shortJson(before)}</del>
      </>
    )
  return (
    <>
      was <del>{shortJson(before!)}</del>, is <ins>{shortJson(after!)}</ins>
    </>
  )
}
