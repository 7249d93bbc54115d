import { useState } from 'preact/hooks'
import { ownArray } from './model/json.ts'

const maxExamples = 9

/** The schema's own examples, each to fill the form with. */
export const Examples = ({ schema, onChoose }: { schema: unknown; onChoose(value: unknown): void }) => {
  const examples = ownArray(schema, 'examples')?.slice(0, maxExamples) ?? []
  const [chosen, setChosen] = useState(-1)
  if (examples.length === 0) return null
  return (
    <div class="examples">
      <span class="quiet">Fill in</span>
      {examples.map((example, i) => (
        <button
          key={i}
          type="button"
          class="small"
          aria-pressed={chosen === i}
          data-example={i}
          onClick={() => {
            setChosen(i)
            onChoose(example)
          }}
        >
          {examples.length === 1 ? 'the example' : `example ${i + 1}`}
        </button>
      ))}
    </div>
  )
}
