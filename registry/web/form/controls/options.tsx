import { useEffect, useState } from 'preact/hooks'
import { jsonText } from '../../json/exact.ts'
import { equal } from '../model/json.ts'
import type { Option } from '../model/view.ts'
import { useActions, useForm } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'

type Props = ControlProps & { options: readonly Option[] }

const maxRadios = 5
const maxListed = 200

/** One of several values: a few as radio buttons, more as a list, very many by typing. */
export const OptionsInput = (props: Props) => {
  const at = props.options.findIndex(option => equal(option.value, props.value))
  const isStranger = props.value !== undefined && at < 0
  return (
    <>
      {props.options.length <= maxRadios ? (
        <Radios {...props} at={at} />
      ) : props.options.length <= maxListed ? (
        <List {...props} at={at} />
      ) : (
        <Search {...props} at={at} />
      )}
      {isStranger && <code class="quiet">now {(jsonText(props.value) ?? '').slice(0, 80)}</code>}
    </>
  )
}

const Radios = ({ options, at, attributes, put }: Props & { at: number }) => {
  const { id, ...rest } = attributes
  const { 'aria-labelledby': labelledBy, 'aria-describedby': describedBy, ...mine } = rest
  return (
    <div class="radios" role="radiogroup" aria-labelledby={labelledBy} aria-describedby={describedBy}>
      {options.map((option, i) => (
        <label key={`${i} ${option.label}`}>
          <input
            type="radio"
            name={id}
            id={i === 0 ? id : undefined}
            value={i}
            checked={i === at}
            data-pointer={mine['data-pointer']}
            aria-invalid={mine['aria-invalid']}
            onChange={() => put(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  )
}

const List = ({ options, at, attributes, put }: Props & { at: number }) => (
  <select
    {...attributes}
    value={at}
    onChange={event => {
      const chosen = options[Number(event.currentTarget.value)]
      if (chosen) put(chosen.value)
    }}
  >
    {at < 0 && (
      <option value={-1} disabled>
        Choose ...
      </option>
    )}
    {options.map((option, i) => (
      <option key={`${i} ${option.label}`} value={i}>
        {option.label}
      </option>
    ))}
  </select>
)

const Search = ({ options, at, attributes, pointer, put }: Props & { at: number }) => {
  const { setDraft } = useActions()
  const { epoch } = useForm()
  const [draft, note] = useState({ text: '', at: -2, epoch: -1 })
  const text = draft.at === at && draft.epoch === epoch ? draft.text : (options[at]?.label ?? '')
  const problem = text === '' || options[at]?.label === text ? undefined : `is not one of the ${options.length} values`
  useEffect(() => {
    setDraft(pointer, problem)
    return () => setDraft(pointer, undefined)
  }, [pointer, problem])
  const near = text === '' ? options : options.filter(option => option.label.includes(text))
  const listId = `${attributes.id}-list`
  return (
    <>
      <input
        type="text"
        autocomplete="off"
        {...attributes}
        list={listId}
        value={text}
        placeholder={`one of ${options.length}: type to search`}
        onInput={event => {
          const typed = event.currentTarget.value
          const now = options.findIndex(option => option.label === typed)
          note({ text: typed, at: now >= 0 ? now : at, epoch })
          if (now >= 0) put(options[now]!.value)
        }}
      />
      <datalist id={listId}>
        {near.slice(0, 50).map(option => (
          <option key={option.label} value={option.label} />
        ))}
      </datalist>
    </>
  )
}
