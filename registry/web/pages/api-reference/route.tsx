import '../../looks/routes.css'
import { useMemo, useState } from 'preact/hooks'
import type { JsonSchema } from 'pshub'
import { withPlaceholders } from '../../../schema/secrets.ts'
import { at, taskPath } from '../../address/paths.ts'
import { jsonLiteral } from '../../json/literals.ts'
import { Markdown } from '../../parts/markdown.tsx'
import { SchemaView } from '../../parts/schema-view.tsx'
import { Text } from '../../parts/text.tsx'
import type { Route } from '../../rows/routes.ts'
import { plainSummary } from '../../rows/tasks.ts'
import { session } from '../../session/access.ts'
import { CopyButton } from '../../try-it/parts/copy-button.tsx'
import { noCallChoices } from '../../try-it/run/call-choices.ts'
import { examplesOf } from '../../try-it/schema/examples.ts'
import { curlSnippet } from '../../try-it/snippets/texts.ts'

/** One route: its line, and what there is to know of it once it is opened. */
export const RouteView = ({ route, isOpenAtFirst }: { route: Route; isOpenAtFirst: boolean }) => {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  return (
    <details class="fold route" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>
          <span class="route-method">{route.method}</span> <Text class="mono">{route.path}</Text>
        </h2>
        <span class="quiet">
          <Text>{plainSummary(route.summary)}</Text>
        </span>
      </summary>
      {isOpen && <RouteBody route={route} />}
    </details>
  )
}

const RouteBody = ({ route }: { route: Route }) => (
  <div class="route-body">
    <Markdown>{route.description}</Markdown>
    <p>
      <a href={taskPath(route.task)}>Its form, workers and charts</a>
    </p>
    <Example route={route} />
    <div class="schemas">
      <SchemaView name="Arguments" schema={route.args as JsonSchema} none="None declared: any JSON is accepted." />
      <SchemaView name="Result" schema={route.result as JsonSchema} none="None declared: it can be any JSON." />
    </div>
    <section>
      <h3>Headers</h3>
      <dl class="route-terms">
        {route.headers.map(({ name, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </section>
    <section>
      <h3>Errors</h3>
      <dl class="route-terms">
        {route.errors.map(({ status, description }) => (
          <div key={status}>
            <dt>
              <code>{status}</code>
            </dt>
            <dd class="lines">{description}</dd>
          </div>
        ))}
      </dl>
    </section>
  </div>
)

/** A call with arguments as the schema has them, in the schema's own words where it has examples. */
const Example = ({ route }: { route: Route }) => {
  const examples = useMemo(() => (route.args === undefined ? [{}] : examplesOf(route.args)), [route])
  const result = useMemo(() => (route.result === undefined ? undefined : examplesOf(route.result)[0]), [route])
  const [chosen, setChosen] = useState(0)
  const args = withPlaceholders({ args: route.args }, examples[chosen]).value
  const text = curlSnippet({
    task: route.task,
    args,
    ...noCallChoices,
    namespace: session.value?.namespace ?? 'pshub',
    url: new URL(at(route.path.slice(1)), location.href).href,
  })
  return (
    <section>
      <h3>Example</h3>
      {examples.length > 1 && (
        <p class="route-examples">
          {examples.map((_, n) => (
            <button key={n} type="button" class="small" aria-pressed={n === chosen} onClick={() => setChosen(n)}>
              example {n + 1}
            </button>
          ))}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre class="snippet" tabIndex={0}>
        {text}
      </pre>
      <CopyButton label="Copy curl" text={() => text} />{' '}
      <span class="quiet">PSHUB_TOKEN is a token of the role run or admin.</span>
      {result !== undefined && (
        <>
          <h4>Answer</h4>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: as above */}
          <pre class="snippet" tabIndex={0}>
            {jsonLiteral(result)}
          </pre>
        </>
      )}
    </section>
  )
}
