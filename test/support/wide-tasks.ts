import { defineTask } from '../../src/index.ts'

const place = {
  type: 'object',
  properties: { street: { type: 'string' }, city: { type: 'string' }, country: { enum: ['DE', 'FR', 'JP'] } },
  required: ['street', 'city'],
} as const

const item = {
  type: 'object',
  properties: {
    sku: { type: 'string', description: 'As it stands on the **shelf**.' },
    count: { type: 'integer', minimum: 1 },
    gift: { type: 'boolean' },
    to: place,
  },
  required: ['sku', 'count'],
} as const

const properties = {
  name: { type: 'string', minLength: 1, description: 'Who it is for.', examples: ['Ada'] },
  note: { type: 'string', maxLength: 4000, description: 'A long text.' },
  secret: { type: 'string', format: 'password' },
  mail: { type: 'string', format: 'email' },
  day: { type: 'string', format: 'date' },
  at: { type: 'string', format: 'date-time' },
  colour: { type: 'string', format: 'color' },
  old: { type: 'string', deprecated: true },
  share: { type: 'number', minimum: 0, maximum: 1, multipleOf: 0.1 },
  count: { type: ['integer', 'null'], default: 3 },
  isOpen: { type: 'boolean' },
  mode: { enum: ['fast', 'exact'] },
  country: { enum: ['DE', 'FR', 'JP', 'PL', 'ES', 'IT', 'PT', 'SE', 'NO', 'FI'] },
  fixed: { const: 'v1' },
  picture: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
  home: place,
  items: { type: 'array', items: item },
  tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true },
  pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
  labels: { type: 'object', additionalProperties: { type: 'string' } },
  pay: {
    oneOf: [
      { title: 'Card', type: 'object', properties: { card: { type: 'string' } }, required: ['card'] },
      { title: 'Invoice', type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
    ],
  },
  any: {},
} as const

/** A task whose form has a control of every kind. */
export const everyControl = defineTask(
  'every_control:1.0',
  {
    description:
      '## What it does\n\nTakes *all* that a form can draw.\n\n```\n{"name": "Ada"}\n```\n\n> and gives it back',
    args: { type: 'object', properties, required: ['name', 'items'] },
    result: { type: 'object' },
    idempotent: true,
  },
  async args => args,
)

/** Arguments of it that make a long form. */
export const longArgs = {
  name: 'Ada',
  count: null,
  home: { street: '1 Long Street', city: 'Springfield' },
  labels: { first: 'one', second: 'two' },
  pay: { days: 14 },
  pair: ['a', 1],
  tags: ['a'],
  items: Array.from({ length: 30 }, (_, n) => ({
    sku: `sku-${n}`,
    count: n + 1,
    gift: n % 2 === 0,
    to: { street: `${n} Long Street`, city: 'Springfield' },
  })),
}

/** A task of merged jobs that always fails. */
export const keyTask = defineTask('sync:1.0', { keyed: 'merged', retries: 3, backoff: 3_600_000 }, () => {
  throw new Error('the shop is closed')
})
