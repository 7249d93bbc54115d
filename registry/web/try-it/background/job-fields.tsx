import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId } from 'preact/hooks'
import type { TaskRow } from '../../../contract.ts'
import { zoneName } from '../../text/zone.ts'
import type { JobChoices } from './choices.ts'

interface FieldsProps {
  choices: JobChoices
  /** Each job of the task is given a key. */
  keyed: TaskRow['keyed']
  onChange(choices: JobChoices): void
}

/** How the job is to be run, folded away: a job needs none of it, but for its key. */
export const JobFields = ({ choices, keyed, onChange }: FieldsProps) => {
  const isMerged = keyed === 'merged'
  const change = (changes: Partial<JobChoices>) => onChange({ ...choices, ...changes })
  return (
    <details class="fold" open={keyed !== undefined}>
      <summary>Job options</summary>
      <div class="job-fields">
        {keyed && <Key label={keyLabels[keyed]} choices={choices} change={change} />}
        {isMerged && <Score choices={choices} change={change} />}
        <When choices={choices} change={change} />
        {!isMerged && <OfOneJob keyed={keyed} choices={choices} change={change} />}
      </div>
    </details>
  )
}

interface PartProps {
  choices: JobChoices
  change(changes: Partial<JobChoices>): void
}

/** What is said of one job, and has no meaning where several become one. */
const OfOneJob = ({ keyed, choices, change }: PartProps & { keyed: TaskRow['keyed'] }) => (
  <>
    <TextField
      label="Retries"
      inputMode="numeric"
      size={6}
      placeholder="the task's"
      value={choices.retries}
      onText={retries => change({ retries })}
    />
    {!keyed && (
      <Choice
        label="Priority"
        value={choices.priority}
        options={[
          ['normal', 'normal'],
          ['high', 'high: before all others'],
          ['low', 'low: runs after others'],
        ]}
        onChoose={priority => change({ priority })}
      />
    )}
    <Unique choices={choices} change={change} />
    <Choice
      label="Keep its record"
      value={choices.keep}
      options={[
        ['no', 'no'],
        ['hour', 'an hour after its end'],
        ['day', 'a day after its end'],
        ['week', 'a week after its end'],
      ]}
      onChoose={keep => change({ keep })}
    />
  </>
)

const keyLabels = { ordered: 'Key: one job at a time', merged: 'Key: merged with waiting payloads' }

const Score = ({ choices, change }: PartProps) => (
  <TextField
    label="Score: lower ones first"
    inputMode="decimal"
    size={10}
    placeholder="the time"
    value={choices.score}
    onText={score => change({ score })}
  />
)

const Key = ({ label, choices, change }: PartProps & { label: string }) => (
  <TextField label={label} size={16} placeholder="order-17" value={choices.key} onText={key => change({ key })} />
)

const When = ({ choices, change }: PartProps) => (
  <>
    <Choice
      label="When"
      value={choices.when}
      options={[
        ['now', 'now'],
        ['in', 'after a delay'],
        ['at', 'at a time'],
      ]}
      onChoose={when => change({ when })}
    />
    {choices.when === 'in' && (
      <Field label="Delay">
        {id => (
          <span class="job-field-pair">
            <input
              id={id}
              inputMode="decimal"
              size={6}
              value={choices.delay}
              onInput={event => change({ delay: event.currentTarget.value })}
            />
            <select
              aria-label="Unit of the delay"
              value={choices.unit}
              onChange={event => change({ unit: event.currentTarget.value as JobChoices['unit'] })}
            >
              <option value="s">s</option>
              <option value="min">min</option>
              <option value="h">hours</option>
              <option value="d">days</option>
            </select>
          </span>
        )}
      </Field>
    )}
    {choices.when === 'at' && (
      <Field label={`Time in ${zoneName()}`}>
        {id => (
          <input
            id={id}
            type="datetime-local"
            step={1}
            value={choices.at}
            onInput={event => change({ at: event.currentTarget.value })}
          />
        )}
      </Field>
    )}
  </>
)

const Unique = ({ choices, change }: PartProps) => (
  <>
    <Choice
      label="Only once"
      value={choices.unique}
      options={[
        ['no', 'no'],
        ['args', 'of those with these arguments'],
        ['id', 'of those with an id'],
      ]}
      onChoose={unique => change({ unique })}
    />
    {choices.unique === 'id' && (
      <TextField label="Unique id" size={14} value={choices.uniqueId} onText={uniqueId => change({ uniqueId })} />
    )}
  </>
)

/** A field under its label. */
export const Field = ({ label, children }: { label: string; children(id: string): ComponentChildren }) => {
  const id = useId()
  return (
    <div class="job-field">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  )
}

interface TextFieldProps
  extends Pick<
    InputHTMLAttributes<HTMLInputElement>,
    'size' | 'placeholder' | 'inputMode' | 'class' | 'aria-describedby'
  > {
  label: string
  value: string
  onText(text: string): void
}

export const TextField = ({ label, onText, ...input }: TextFieldProps) => (
  <Field label={label}>
    {id => (
      <input
        id={id}
        autocomplete="off"
        spellcheck={false}
        {...input}
        onInput={event => onText(event.currentTarget.value)}
      />
    )}
  </Field>
)

interface ChoiceProps<Value extends string> {
  label: string
  value: Value
  options: readonly (readonly [Value, string])[]
  onChoose(value: Value): void
}

export const Choice = <Value extends string>({ label, value, options, onChoose }: ChoiceProps<Value>) => (
  <Field label={label}>
    {id => (
      <select id={id} value={value} onChange={event => onChoose(event.currentTarget.value as Value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
)
