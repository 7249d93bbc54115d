// The content of each part of a city's page as label and text, before anybody decides how it looks.
import { titles } from './calls.mjs'
import { coordinates, duration, inhabitants, instant, number, percent } from './format.mjs'

/** What stands in the place of a part that is missing. */
export const gapText = (part, { error, ms }) => {
  const reason = error.code === 'Timeout' ? `Timeout after ${Math.round(ms)} ms` : `${error.code}: ${error.message}`
  return `${titles[part]}: not available right now (${reason})`
}

const list = (texts, none) => (texts.length === 0 ? none : texts.join(', '))

const factRows = ({ city }) => [
  ['What it is', city.kind],
  ['Region', city.region ?? 'not known'],
  ['Inhabitants', inhabitants(city.population)],
  ['Coordinates', coordinates(city)],
  ['GeoNames id', String(city.id)],
]

const timeRows = time => [
  ['Time', time.time],
  ['Date', `${time.weekday}, ${time.date}`],
  ['Time zone', `${time.timeZone} (UTC${time.utcOffset.replace('-', '−')})`],
]

const sunRows = sun => {
  const rows = ['dawn', 'sunrise', 'noon', 'sunset', 'dusk']
    .filter(event => sun[event])
    .map(event => [event[0].toUpperCase() + event.slice(1), sun[event].local])
  return [
    ...(sun.state === 'rises and sets' ? [] : [['Today', sun.state]]),
    ...rows,
    ['Day length', duration(sun.dayLengthMinutes)],
  ]
}

const litSides = { right: 'on the right', left: 'on the left', lower: 'towards the horizon' }

const moonRows = moon => [
  ['Phase', moon.phase],
  ['Lit', `${percent(moon.litPart)}, ${litSides[moon.litSide]}`],
  ['Age', `${moon.ageDays} days`],
  ['Next full moon', instant(moon.nextFullMoon)],
  ['Next new moon', instant(moon.nextNewMoon)],
]

const countryRows = ({ country }) => [
  ['Name', country.name === country.nativeName ? country.name : `${country.name} (${country.nativeName})`],
  ['Continent', country.continent],
  ['Capital', country.capital ?? 'none'],
  ['Languages', list(country.languages, 'none listed')],
  ['Currency', list(country.currencies, 'none listed')],
  ['Calling code', list(country.callingCodes, 'none listed')],
  ['Places here', number(country.places)],
]

export const rowsOf = { facts: factRows, time: timeRows, sun: sunRows, moon: moonRows, country: countryRows }

/** True when the registry knows no such city, which is an answer and not a failure. */
export const isUnknown = parts => parts.facts.ok && parts.facts.value.city === null
