// What is known of a country, and what the data set adds to it.
import { continents, countries, languages } from 'countries-list'
import { citiesByCountry } from './cities.mjs'

/** @param {string} code ISO 3166-1 alpha-2 */
export const countryByCode = code => {
  const country = countries[code]
  if (!country) return null
  const places = citiesByCountry.get(code) ?? []
  return {
    code,
    name: country.name,
    nativeName: country.native,
    continent: continents[country.continent],
    capital: country.capital || null,
    currencies: country.currency,
    languages: country.languages.map(language => languages[language]?.name ?? language),
    callingCodes: country.phone.map(number => `+${number}`),
    places: places.length,
    largest: places.slice(0, 5),
  }
}
