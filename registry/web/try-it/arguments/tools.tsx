import { useRef, useState } from 'preact/hooks'
import { jsonText, nodeOf } from '../../json/exact.ts'
import { shortJson } from '../../json/tree.tsx'
import { examplesOf } from '../schema/examples.ts'

/** Larger files than a task takes by default are not read. */
const maxFileBytes = 1_048_576

/** The text of a file with arguments. Throws Error with a message for people. */
export const textOfFile = async (file: File): Promise<string> => {
  if (file.size > maxFileBytes) throw new Error(`${file.name} is larger than ${maxFileBytes} bytes.`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    throw new Error(`${file.name} is not UTF-8 text.`)
  }
}

interface ToolsProps {
  schema: unknown
  onFill(value: unknown): void
  onReset(): void
  onFile(file: File): void
  onPaste(): void
}

/** Ways to fill the form without typing. */
export const EditorTools = ({ schema, onFill, onReset, onFile, onPaste }: ToolsProps) => {
  const file = useRef<HTMLInputElement>(null)
  return (
    <div class="editor-tools">
      {schema !== undefined && <Examples schema={schema} onFill={onFill} />}
      <button type="button" onClick={onReset}>
        Reset
      </button>
      <button type="button" onClick={() => file.current?.click()}>
        Load file…
      </button>
      <button type="button" onClick={onPaste}>
        From a job, a log…
      </button>
      <input
        ref={file}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="File with arguments as JSON"
        accept=".json,application/json,text/plain"
        onChange={event => {
          const chosen = event.currentTarget.files?.[0]
          if (chosen) onFile(chosen)
          event.currentTarget.value = ''
        }}
      />
    </div>
  )
}

const Examples = ({ schema, onFill }: Pick<ToolsProps, 'schema' | 'onFill'>) => {
  const examples = examplesOf(schema)
  const [chosen, setChosen] = useState(0)
  const example = examples[chosen] ?? examples[0]
  return (
    <>
      <button type="button" onClick={() => onFill(example)}>
        Fill in example
      </button>
      {examples.length > 1 && (
        <select
          aria-label="Which example"
          value={chosen}
          onChange={event => {
            setChosen(Number(event.currentTarget.value))
            onFill(examples[Number(event.currentTarget.value)])
          }}
        >
          {examples.map((one, at) => (
            <option key={at} value={at}>
              {at + 1}: {summary(one)}
            </option>
          ))}
        </select>
      )}
    </>
  )
}

const summary = (value: unknown): string => {
  const text = jsonText(value) ?? ''
  return text.length <= 40 ? text : shortJson(nodeOf(value))
}
