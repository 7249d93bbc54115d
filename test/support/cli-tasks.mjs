import { setTimeout as delay } from 'node:timers/promises'

const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a'],
  additionalProperties: false,
}

/** The exports of tasks.mjs, of what a package of pshub has: the one that is built, or the source. */
export const makeTasks = ({ defineTask, TaskError }) => {
  const add = defineTask(
    'add:1.0',
    { description: '# Adds two numbers\nMore of it.', args: numbers, result: { type: 'number' }, idempotent: true },
    ({ a, b = 0 }) => a + b,
  )
  return {
    add,
    plus: add,
    echo: defineTask('echo:1.2', {}, value => value),
    more: [
      defineTask('fail:1.0', {}, () => {
        throw new TaskError('no\u001b[31mluck', { data: { why: 'chance' } })
      }),
      defineTask('wrong:1.0', { result: { type: 'string' } }, () => 5),
    ],
    rest: {
      slow: defineTask('slow:1.0', { timeoutMs: 60_000 }, async ({ ms }, { log, signal }) => {
        log.warn('slow begins')
        await delay(ms, undefined, { signal })
        return { slept: ms }
      }),
      stray: defineTask('stray:1.0', {}, () => {
        Promise.reject(new Error('astray'))
        return 'done'
      }),
      crash: defineTask('crash:1.0', {}, () => {
        setTimeout(() => {
          throw new Error('crashed')
        }, 1)
        return 'done'
      }),
    },
  }
}
