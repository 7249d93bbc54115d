// The sky worker: sun and clocks. It knows no cities; it asks the places worker, by a nested call across queues.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask, TaskError } from 'pshub'
import { localTime } from './clock.mjs'
import { sunTimes as sunTimesAt } from './sun.mjs'

const cityId = {
  type: 'integer',
  minimum: 1,
  title: 'City',
  description: 'GeoNames id of the city.',
  examples: [2988507, 3133895],
}

const zone = { type: 'string', description: 'Time zone, by its IANA name.', examples: ['Europe/Paris'] }

const exactly = properties => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** The nested call gets what is left of the caller's time, and is given up together with it. */
const cityOf = async (cityId, context) => {
  const { city } = await context.call('city_facts:1.0', { cityId })
  if (!city) throw new TaskError(`There is no city with the id ${cityId}.`, { data: { cityId } })
  return city
}

const moment = {
  anyOf: [
    exactly({
      at: { type: 'string', format: 'date-time', description: 'The instant, in UTC.' },
      local: { type: 'string', pattern: '^\\d\\d:\\d\\d$', description: 'On a clock there.', examples: ['07:58'] },
    }),
    { type: 'null' },
  ],
}

export const sunTimes = defineTask(
  'sun_times:1.0',
  {
    description:
      'Sunrise, noon, sunset and length of the day in a city.\n\n' +
      'Near the poles the sun may not rise or not set that day: `state` says so and the times are null.',
    args: {
      type: 'object',
      properties: {
        cityId,
        date: { type: 'string', format: 'date', description: 'Default: today in the city.', examples: ['2026-06-21'] },
        delayMs: {
          type: 'integer',
          minimum: 0,
          maximum: 5000,
          default: 0,
          description: 'Waits this long before it answers, to show what a late task does to its callers.',
          examples: [1500],
        },
      },
      required: ['cityId'],
      additionalProperties: false,
      examples: [{ cityId: 2988507 }, { cityId: 3133895, date: '2026-06-21' }],
    },
    result: exactly({
      date: { type: 'string', format: 'date', description: 'The day, by the calendar of the city.' },
      timeZone: zone,
      state: { enum: ['rises and sets', 'polar day', 'polar night'] },
      dawn: { ...moment, description: 'Civil twilight begins.' },
      sunrise: { ...moment, description: 'The upper edge of the sun appears.' },
      noon: { ...moment, description: 'The sun is highest.' },
      sunset: { ...moment, description: 'The upper edge of the sun disappears.' },
      dusk: { ...moment, description: 'Civil twilight ends.' },
      dayLengthMinutes: { type: 'integer', minimum: 0, maximum: 1440, description: 'From sunrise to sunset.' },
    }),
    timeoutMs: 2000,
    idempotent: true,
  },
  async ({ cityId, date, delayMs = 0 }, context) => {
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: context.signal })
    const city = await cityOf(cityId, context)
    return sunTimesAt(city, date ?? localTime(city.timeZone, new Date()).date)
  },
)

export const localTimeOf = defineTask(
  'local_time:1.0',
  {
    description: 'Date and time of day in a city at this moment, and its time zone.',
    args: {
      type: 'object',
      properties: { cityId },
      required: ['cityId'],
      additionalProperties: false,
      examples: [{ cityId: 1283240 }],
    },
    result: exactly({
      timeZone: zone,
      date: { type: 'string', format: 'date' },
      time: { type: 'string', pattern: '^\\d\\d:\\d\\d$', examples: ['18:05'] },
      weekday: { type: 'string', examples: ['Saturday'] },
      utcOffset: { type: 'string', description: 'Ahead of UTC, or behind it.', examples: ['+05:45'] },
    }),
    timeoutMs: 2000,
    idempotent: true,
  },
  async ({ cityId }, context) => localTime((await cityOf(cityId, context)).timeZone, new Date()),
)
