import { defineTask } from '../../src/index.ts'

/** A task with all that can be said of one. */
export const add = defineTask(
  'my_task:1.0',
  {
    description: 'Adds ten.',
    args: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'], additionalProperties: false },
    result: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
    timeoutMs: 5000,
    idempotent: true,
  },
  async args => ({ x: args.x + 10 }),
)
export const echo = defineTask('echo:1.0', {}, args => args)
