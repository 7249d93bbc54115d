import { effect } from '@preact/signals'
import { type Zone, zone, zoneName, zones } from '../text/zone.ts'

export const ZoneChoice = () => (
  <label class="theme">
    <span class="visually-hidden">Clock</span>
    <select
      class="small"
      title={`Times are those of ${zoneName()}`}
      value={zone.value}
      onChange={event => (zone.value = event.currentTarget.value as Zone)}
    >
      {zones.map(name => (
        <option key={name} value={name}>
          {name === 'UTC' ? 'UTC' : 'Local time'}
        </option>
      ))}
    </select>
  </label>
)

const key = 'pshub-zone'

/** Keeps the chosen zone in this browser. */
export const startZone = (): void => {
  try {
    if (localStorage.getItem(key) === 'UTC') zone.value = 'UTC'
    effect(() => localStorage.setItem(key, zone.value))
  } catch {
    // A browser that keeps nothing shows local times next time.
  }
}
