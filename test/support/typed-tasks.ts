import type { TaskSchemas } from '../../src/types/schemas.ts'

const text = { type: 'string' }
const number = { type: 'number' }

/** Tasks whose schemas have what types are made of, and some that are out to break them. */
export const typedTasks: TaskSchemas[] = [
  {
    task: 'add:1.0',
    description: 'Adds.',
    args: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'], additionalProperties: false },
    result: number,
  },
  {
    task: 'chat:1.0',
    description: '',
    args: { type: 'object', properties: { text }, required: ['text'] },
    yields: { type: ['object', 'null'], properties: { word: text }, required: ['word'], additionalProperties: false },
  },
  { task: 'more:1.0', description: '', yields: true },
  { task: 'add:1.2', description: '', args: { type: 'object', properties: { a: number } }, result: number },
  {
    task: 'image/re-size_it:2.1',
    description: 'Hostile: */ } export const x = 1 /* \n\u2028 """ \r\n # \u0000 second',
    args: {
      type: 'object',
      description: '*/ end',
      properties: {
        'a-b': { enum: ['x', 'y"', 1, true, null], description: 'line one */\nline two' },
        class: { type: 'integer' },
        '': text,
        '*/': text,
        'q"u\\o\nte': { type: ['string', 'null'] },
      },
      required: ['a-b'],
    },
    result: {
      $ref: '#/$defs/tree',
      $defs: {
        tree: {
          type: 'object',
          properties: {
            value: text,
            children: { type: 'array', items: { $ref: '#/$defs/tree' } },
          },
          required: ['value'],
        },
      },
    },
  },
  {
    task: 'shapes:1.0',
    description: '',
    args: {
      type: 'object',
      properties: {
        kind: { const: 'circle' },
        either: { oneOf: [text, { type: 'object', properties: { n: number }, required: ['n'] }] },
        both: {
          allOf: [
            { type: 'object', properties: { left: text }, required: ['left'] },
            { type: 'object', properties: { right: text }, required: ['right'] },
          ],
        },
        pair: { type: 'array', prefixItems: [text, number], items: false },
        open: { type: 'object', additionalProperties: number },
        more: { type: 'object', properties: { id: text }, additionalProperties: number },
        maybe: { type: ['string', 'null'] },
        none: { type: 'object', additionalProperties: false },
        free: { type: 'object' },
        self: { $ref: '#' },
      },
      required: ['kind'],
    },
    result: { anyOf: [{ type: 'null' }, { type: 'array', items: { type: 'boolean' } }] },
  },
  {
    task: 'circle:1.0',
    description: '',
    args: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
    result: {
      $ref: '#/$defs/x',
      $defs: { x: { anyOf: [{ $ref: '#/$defs/y' }, text] }, y: { anyOf: [{ $ref: '#/$defs/x' }, number] } },
    },
  },
  { task: 'outside:1.0', description: '', args: { $ref: 'https://example.com/x.json' } },
  { task: 'nothing:1.0', description: '' },
]
