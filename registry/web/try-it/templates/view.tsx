import { useId, useState } from 'preact/hooks'
import type { Template } from 'pshub'
import { jsonLiteral } from '../../json/literals.ts'
import { refusal } from '../../session/access.ts'
import { dateTime } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import type { Templates } from './state.ts'

interface TemplatesProps {
  task: string
  templates: Templates
  onUse(template: Template): void
}

/** Arguments that somebody gave a name: everybody who looks at the task sees them. */
export const TemplatesView = ({ task, templates, onUse }: TemplatesProps) => {
  const own = useId()
  const [name, setName] = useState('')
  const refused = refusal('run')
  const { list, most, said } = templates
  return (
    <details
      class="fold"
      onToggle={event => {
        if (event.currentTarget.open) void templates.load()
      }}
    >
      <summary>Templates</summary>
      {list?.length === 0 && (
        <p class="quiet">Save arguments under a name here, for everybody who may see {printable(task)}.</p>
      )}
      {list && list.length > 0 && (
        <ul class="history templates">
          {list.map(template => (
            <Line key={template.name} template={template} templates={templates} refused={refused} onUse={onUse} />
          ))}
        </ul>
      )}
      <form
        class="run-controls"
        onSubmit={event => {
          event.preventDefault()
          void templates.save(name).then(() => setName(''))
        }}
      >
        <label for={own}>Save these arguments as</label>
        <input
          id={own}
          size={20}
          maxLength={60}
          autocomplete="off"
          value={name}
          onInput={event => setName(event.currentTarget.value)}
        />
        <button type="submit" aria-disabled={refused !== undefined} title={refused}>
          Save
        </button>
        {list && (
          <span class="quiet">{`${list.length} of at most ${most}; saving under an existing name replaces it`}</span>
        )}
      </form>
      <p role="status" class="quiet">
        {printable(said)}
      </p>
    </details>
  )
}

interface LineProps {
  template: Template
  templates: Templates
  refused: string | undefined
  onUse(template: Template): void
}

const Line = ({ template, templates, refused, onUse }: LineProps) => {
  const { name, args, isWhole, by, atMs } = template
  return (
    <li>
      <span class="template-name">{printable(name)}</span>
      <time class="quiet" dateTime={new Date(atMs).toISOString()}>
        {dateTime(atMs)} by {printable(by)}
      </time>
      <code class="history-args">{printable(jsonLiteral(args).slice(0, 200))}</code>
      <button type="button" onClick={() => onUse(template)}>
        Use<span class="visually-hidden"> {printable(name)}</span>
      </button>
      <button
        type="button"
        aria-disabled={refused !== undefined}
        title={refused}
        onClick={() => refused === undefined && void templates.remove(name)}
      >
        Delete<span class="visually-hidden"> {printable(name)}</span>
      </button>
      {!isWhole && <span class="quiet">without its secret fields</span>}
    </li>
  )
}
