// JSON Schemas (2020-12) that several tasks share. The registry draws its forms from them.

export const cityId = {
  type: 'integer',
  minimum: 1,
  title: 'City',
  description: 'GeoNames id of the city.',
  examples: [2988507, 2950159, 3133895],
}

export const city = {
  type: 'object',
  description: 'A populated place.',
  properties: {
    id: cityId,
    name: { type: 'string', description: 'Name as GeoNames writes it.', examples: ['Paris'] },
    region: { type: ['string', 'null'], description: 'State, province or the like; null when unknown.' },
    country: {
      type: 'string',
      pattern: '^[A-Z]{2}$',
      description: 'Country code, ISO 3166-1 alpha-2.',
      examples: ['FR'],
    },
    countryName: { type: 'string', description: 'Its name in English.', examples: ['France'] },
    kind: { type: 'string', description: 'What it is, in words.', examples: ['national capital'] },
    population: { type: ['integer', 'null'], minimum: 1, description: 'Inhabitants; null when unknown.' },
    latitude: { type: 'number', minimum: -90, maximum: 90, description: 'Degrees north.', examples: [48.85341] },
    longitude: { type: 'number', minimum: -180, maximum: 180, description: 'Degrees east.', examples: [2.3488] },
    timeZone: { type: 'string', description: 'Time zone, by its IANA name.', examples: ['Europe/Paris'] },
  },
  required: [
    'id',
    'name',
    'region',
    'country',
    'countryName',
    'kind',
    'population',
    'latitude',
    'longitude',
    'timeZone',
  ],
  additionalProperties: false,
}

export const citiesList = { type: 'array', items: city }

/** An object whose listed fields are all there, and no others. */
export const exactly = properties => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** The same for a value that may be null, which stands for "there is no such thing". */
export const orNull = schema => ({ anyOf: [schema, { type: 'null' }] })
