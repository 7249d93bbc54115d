import { useId, useMemo } from 'preact/hooks'
import { refusal } from '../../session/access.ts'
import { ownZone, type ScheduleChoices, zones } from './choices.ts'
import { Choice, Field, TextField } from './job-fields.tsx'

interface ScheduleFoldProps {
  times: ScheduleChoices
  onChange(times: ScheduleChoices): void
  isBusy: boolean
  onSchedule(): void
}

/** Has the task enqueued at times, with the arguments that are in the form now. */
export const ScheduleFold = ({ times, onChange, isBusy, onSchedule }: ScheduleFoldProps) => {
  const own = useId()
  const known = useMemo(zones, [])
  const refused = refusal('admin')
  const change = (changes: Partial<ScheduleChoices>) => onChange({ ...times, ...changes })
  return (
    <details class="fold">
      <summary>Schedule</summary>
      <div class="job-fields">
        <TextField
          label="Name of the schedule"
          size={16}
          placeholder="nightly"
          value={times.name}
          onText={name => change({ name })}
        />
        <TextField
          label="Cron"
          class="mono"
          size={16}
          placeholder="0 3 * * *"
          aria-describedby={`${own}-cron`}
          value={times.cron}
          onText={cron => change({ cron })}
        />
        <Field label="Time zone">
          {id => (
            <>
              <input
                id={id}
                size={18}
                list={`${own}-zones`}
                autocomplete="off"
                spellcheck={false}
                placeholder="UTC"
                value={times.timezone}
                onInput={event => change({ timezone: event.currentTarget.value })}
              />
              <datalist id={`${own}-zones`}>
                {known.map(zone => (
                  <option key={zone} value={zone} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Choice
          label="Missed times"
          value={times.missed}
          options={[
            ['once', 'run once for all'],
            ['skip', 'are skipped'],
          ]}
          onChoose={missed => change({ missed })}
        />
      </div>
      <p id={`${own}-cron`} class="quiet job-fields-note">
        Minute, hour, day of the month, month, day of the week; six fields begin with seconds. Your time zone is{' '}
        {ownZone()}. A schedule of the same name is replaced.
      </p>
      <div class="run-controls">
        <button
          type="button"
          aria-disabled={refused !== undefined || isBusy}
          title={refused}
          onClick={() => refused === undefined && !isBusy && onSchedule()}
        >
          Schedule it
        </button>
        {refused !== undefined && <span class="refused">{refused}</span>}
      </div>
    </details>
  )
}
