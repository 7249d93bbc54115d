// Values in words, for the page and for the terminal alike.

export const number = value => value.toLocaleString('en')

/** 0.42 → '0.4 ms', 12.3 → '12 ms' */
export const milliseconds = ms => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

/** 535 → '8 h 55 min' */
export const duration = minutes => `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`

/** 0.42 → '42 %' */
export const percent = part => `${Math.round(part * 100)} %`

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })

/** '2024-01-25T17:54:17Z' → '25 Jan 2024, 17:54 UTC' */
export const instant = text => `${dateAndTime.format(new Date(text))} UTC`

const degrees = (value, positive, negative) => `${Math.abs(value).toFixed(2)}° ${value < 0 ? negative : positive}`

export const coordinates = ({ latitude, longitude }) =>
  `${degrees(latitude, 'N', 'S')}, ${degrees(longitude, 'E', 'W')}`

export const inhabitants = population => (population === null ? 'not known' : number(population))

/** 'Île-de-France, France' */
export const whereabouts = city => [city.region, city.countryName].filter(Boolean).join(', ')
