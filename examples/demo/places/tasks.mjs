// The places worker: what is where. Started as `pshub worker examples/demo/places/tasks.mjs --queue places`.
import { defineTask } from 'pshub'
import { cities, cityById } from './cities.mjs'
import { countryByCode } from './countries.mjs'
import { density } from './map.mjs'
import { neighboursOf } from './neighbours.mjs'
import { citiesList, city, cityId, exactly, orNull } from './schemas.mjs'
import { search } from './search.mjs'

/** Reading does no harm when it is done twice. */
const reading = { timeoutMs: 2000, idempotent: true }

const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 100,
  default: 10,
  description: 'How many at most.',
  examples: [10],
}

const byCity = {
  type: 'object',
  properties: { cityId },
  required: ['cityId'],
  additionalProperties: false,
  examples: [{ cityId: 2988507 }],
}

export const cityFacts = defineTask(
  'city_facts:1.0',
  {
    ...reading,
    description:
      'The facts of one city: name, region, country, population and coordinates.\n\n`city` is null when there is none with this id.',
    args: byCity,
    result: exactly({ city: orNull(city) }),
  },
  ({ cityId }) => ({ city: cityById(cityId) ?? null }),
)

export const citySearch = defineTask(
  'city_search:1.0',
  {
    ...reading,
    description:
      'Finds cities by the beginning of their names.\n\nExact names come first, then the larger city. ' +
      'Accents and case do not matter. A country or a region after a comma narrows the search: `Springfield, Illinois`.',
    args: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'Beginning of a name, if need be with a comma and a country or region.',
          examples: ['Paris', 'sao p', 'Springfield, Illinois'],
        },
        limit,
      },
      required: ['query'],
      additionalProperties: false,
      examples: [{ query: 'Springfield, Illinois' }],
    },
    result: exactly({
      matches: { type: 'integer', minimum: 0, description: 'How many cities fit in all.' },
      cities: citiesList,
    }),
  },
  ({ query, limit = 10 }) => search(query, limit),
)

export const cityNeighbours = defineTask(
  'city_neighbours:1.0',
  {
    ...reading,
    description: 'The nearest neighbours of a city, nearest first, with distance and direction.',
    args: {
      type: 'object',
      properties: {
        cityId,
        count: { ...limit, maximum: 50, default: 8 },
        minPopulation: {
          type: 'integer',
          minimum: 0,
          default: 0,
          description: 'Leaves out places with fewer inhabitants, or with an unknown number of them.',
          examples: [100000],
        },
      },
      required: ['cityId'],
      additionalProperties: false,
      examples: [{ cityId: 2988507, count: 8, minPopulation: 100000 }],
    },
    result: exactly({
      neighbours: {
        type: 'array',
        items: exactly({
          city,
          km: { type: 'number', minimum: 0, description: 'Distance along the great circle, in kilometres.' },
          bearingDegrees: { type: 'integer', minimum: 0, maximum: 359, description: 'Clockwise from north.' },
          direction: { type: 'string', description: 'The bearing in words.', examples: ['north-east'] },
        }),
      },
    }),
  },
  ({ cityId, count = 8, minPopulation = 0 }) => {
    const city = cityById(cityId)
    return { neighbours: city ? neighboursOf(city, count, minPopulation) : [] }
  },
)

const country = exactly({
  code: { type: 'string', description: 'ISO 3166-1 alpha-2.', examples: ['FR'] },
  name: { type: 'string', examples: ['France'] },
  nativeName: { type: 'string', description: 'Its name in its own language.' },
  continent: { type: 'string', examples: ['Europe'] },
  capital: { type: ['string', 'null'] },
  currencies: { type: 'array', items: { type: 'string' }, description: 'Currency codes, ISO 4217.' },
  languages: { type: 'array', items: { type: 'string' }, description: 'Official languages, in English.' },
  callingCodes: { type: 'array', items: { type: 'string' }, examples: [['+33']] },
  places: { type: 'integer', minimum: 0, description: 'How many places of the data set lie in it.' },
  largest: { ...citiesList, description: 'Its largest cities, at most five.' },
})

export const cityCountry = defineTask(
  'city_country:1.0',
  {
    ...reading,
    description:
      'The country a city lies in: capital, currency, languages, largest cities.\n\n`country` is null for an unknown city.',
    args: byCity,
    result: exactly({ country: orNull(country) }),
  },
  ({ cityId }) => ({ country: countryByCode(cityById(cityId)?.country) }),
)

export const largestCities = defineTask(
  'largest_cities:1.0',
  {
    ...reading,
    description: 'The most populous cities of the world, and how many places the data set holds.',
    args: { type: 'object', properties: { limit }, additionalProperties: false, examples: [{ limit: 10 }] },
    result: exactly({
      total: { type: 'integer', description: 'Places in the data set.', examples: [135233] },
      cities: citiesList,
    }),
  },
  ({ limit = 10 }) => ({ total: cities.length, cities: cities.slice(0, limit) }),
)

export const randomCities = defineTask(
  'random_cities:1.0',
  {
    ...reading,
    description: 'Some cities by chance, for people who do not know what to look for.',
    args: {
      type: 'object',
      properties: {
        limit,
        minPopulation: { type: 'integer', minimum: 0, default: 100000, description: 'Leaves out smaller places.' },
      },
      additionalProperties: false,
      examples: [{ limit: 6, minPopulation: 100000 }],
    },
    result: exactly({ cities: citiesList }),
  },
  ({ limit = 6, minPopulation = 100_000 }) => {
    const eligible = cities.findLastIndex(city => (city.population ?? 0) >= minPopulation) + 1
    const drawn = new Set()
    while (drawn.size < Math.min(limit, eligible)) drawn.add(Math.floor(Math.random() * eligible))
    return { cities: Array.from(drawn, index => cities[index]) }
  },
)

export const worldMap = defineTask(
  'world_map:1.0',
  {
    ...reading,
    description: 'How many places lie in each cell of a grid over the world: a map drawn by cities alone.',
    args: {
      type: 'object',
      properties: {
        cellDegrees: { type: 'integer', enum: [1, 2, 3, 5, 10], default: 2, description: 'Side of a cell in degrees.' },
      },
      additionalProperties: false,
      examples: [{ cellDegrees: 5 }],
    },
    result: exactly({
      cellDegrees: { type: 'integer' },
      cells: {
        type: 'array',
        items: { type: 'array', items: { type: 'integer' }, minItems: 3, maxItems: 3 },
        description: 'Column from 180° west, row from 90° north, number of places.',
      },
    }),
  },
  ({ cellDegrees = 2 }) => ({ cellDegrees, cells: density(cellDegrees) }),
)
