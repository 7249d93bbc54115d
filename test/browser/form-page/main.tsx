import '../../../registry/web/looks/ground.css'
import './page.css'
import { render } from 'preact'
import { useState } from 'preact/hooks'
import type { JsonSchema, Problem } from 'pshub'
import { SchemaForm } from '../../../registry/web/form/index.tsx'
import { readExact } from '../../../registry/web/json/exact.ts'
import { parseJson, textOf } from '../../../registry/web/json/parse.ts'
import { ProblemSummary } from './summary.tsx'

interface Stage {
  schema: JsonSchema | boolean
  value?: unknown
  verdict?: Problem[]
}

/** Only what a panel does around the form: it keeps the value, shows it as JSON both ways, and lists the problems. */
const Page = ({ stage }: { stage: Stage }) => {
  const [value, setValue] = useState<unknown>(stage.value)
  const [own, setOwn] = useState<Problem[]>([])
  const [text, setText] = useState<string>()
  const shown = text ?? textOf(value)
  return (
    <>
      <SchemaForm
        schema={stage.schema}
        value={value}
        onChange={next => {
          setText(undefined)
          setValue(next)
        }}
        problems={stage.verdict ?? []}
        onProblems={setOwn}
      />
      <ProblemSummary problems={own} />
      <textarea
        id="json"
        aria-label="JSON"
        value={shown}
        onInput={event => {
          setText(event.currentTarget.value)
          const parsed = parseJson(event.currentTarget.value)
          if (parsed.ok) setValue(parsed.value)
        }}
      />
      <output id="own" hidden>
        {JSON.stringify(own)}
      </output>
    </>
  )
}

// The stage comes as JSON text, the way a schema comes from the service; another one for each fragment of the address.
const show = async () => {
  const stage = readExact(await (await fetch(`stage?${location.hash.slice(1)}`)).text()) as Stage
  render(<Page key={location.hash} stage={stage} />, document.getElementById('app')!)
  document.documentElement.dataset.ready = location.hash.slice(1)
}
addEventListener('hashchange', show)
void show()
