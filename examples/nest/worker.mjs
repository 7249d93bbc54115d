// What the web server asks: pshub worker worker.mjs
import { defineTask, TaskError } from 'pshub'

const centsPerKilo = { DE: 490, FR: 690, US: 1490 }

export const shippingCost = defineTask(
  'shipping_cost:1.0',
  {
    description: 'What it costs to send a parcel to a country.',
    args: {
      type: 'object',
      properties: {
        country: { type: 'string', pattern: '^[A-Z]{2}$' },
        grams: { type: 'integer', minimum: 1, maximum: 30_000 },
      },
      required: ['country', 'grams'],
      additionalProperties: false,
    },
    idempotent: true,
  },
  ({ country, grams }) => {
    const cents = centsPerKilo[country]
    if (cents === undefined)
      throw new TaskError(`Nothing is sent to ${country}.`, { code: 'NoSuchCountry', status: 404 })
    return { cents: cents * Math.ceil(grams / 1000) }
  },
)
