// The sun over a place on one day of its calendar.
import { getTimes } from 'suncalc'
import { localTime } from './clock.mjs'

const hourMs = 3_600_000

/** Noon by the sun of that longitude, more or less: an instant that surely lies in the solar day meant by the date. */
const middleOf = (date, longitude) => new Date(Date.parse(`${date}T12:00:00Z`) - (longitude / 15) * hourMs)

const stateOf = ({ alwaysUp, alwaysDown }) => (alwaysUp ? 'polar day' : alwaysDown ? 'polar night' : 'rises and sets')

const dayLengthOf = (state, { sunrise, sunset }) => {
  if (state === 'polar day') return 24 * 60
  if (state === 'polar night' || !sunrise || !sunset) return 0
  return Math.round((sunset - sunrise) / 60_000)
}

/**
 * @param {{ latitude: number, longitude: number, timeZone: string }} place
 * @param {string} date YYYY-MM-DD
 */
export const sunTimes = ({ latitude, longitude, timeZone }, date) => {
  const times = getTimes(middleOf(date, longitude), latitude, longitude)
  const state = stateOf(times)
  const moment = instant => instant && { at: instant.toISOString(), local: localTime(timeZone, instant).time }
  return {
    date,
    timeZone,
    state,
    dawn: moment(times.dawn),
    sunrise: moment(times.sunrise),
    noon: moment(times.solarNoon),
    sunset: moment(times.sunset),
    dusk: moment(times.dusk),
    dayLengthMinutes: dayLengthOf(state, times),
  }
}
