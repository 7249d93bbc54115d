// Tasks that run in threads, and some of the same that do not. Files tell the tests what goes on in a thread that only computes.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, threadId } from 'node:worker_threads'
import { defineTask, HubError, TaskError } from '../../dist/index.js'

const module = import.meta.url
const inThreads = { threads: 2, module, timeoutMs: 15_000 }
let runs = 0

/** Computes until the file `until` is there, or for ever; `begun` tells that it does. */
const compute = ({ begun, until, beats }) => {
  writeFileSync(begun, String(process.pid))
  while (until === undefined || !existsSync(until)) if (beats) appendFileSync(beats, '.')
  return { threadId }
}

class Money {
  constructor(cents) {
    this.cents = cents
  }
  toJSON() {
    return { euros: this.cents / 100 }
  }
}

const circle = {}
circle.circle = circle

/** What handlers return and throw, by name. */
const ends = {
  nothing: () => undefined,
  null: () => null,
  classes: () => ({ price: new Money(250), at: new Date(0), left: undefined, list: [undefined, () => 1] }),
  function: () => () => 1,
  circle: () => circle,
  unsendable: () => new Set(),
  deep: () => Array.from({ length: 70 }).reduce(inner => [inner], 1),
  proto: () => JSON.parse('{"__proto__": {"admin": true}}'),
  large: () => 'x'.repeat(2_000_000),
  error: () => {
    throw Object.assign(new Error('broken'), { code: 'E1' })
  },
  text: () => {
    throw 'only words'
  },
  object: () => {
    throw { some: 'thing' }
  },
  nowhere: () => {
    throw undefined
  },
  hostile: () => {
    throw {
      get message() {
        throw new Error('no')
      },
      toJSON() {
        throw new Error('no')
      },
    }
  },
  task: () => {
    throw new TaskError('later', { retryable: true, data: { afterMs: 500, price: new Money(1) } })
  },
  own: () => {
    throw new TaskError('no such city', { code: 'NoSuchCity', status: 404 })
  },
  final: () => {
    throw new TaskError('never', { retryable: false })
  },
  unclonable: () => {
    throw new TaskError('with a function', { data: { run: () => 1n, list: [() => 1] } })
  },
  hub: () => {
    throw new HubError('Overloaded', 'too much', { task: 'other:1.0', id: 'x', data: { by: 2 } })
  },
  late: async () => {
    await delay(1)
    throw new Error('late')
  },
}
const end = ({ how }) => ends[how]()

export const ending = defineTask('ending:1.0', inThreads, end)
export const endingHere = defineTask('ending_here:1.0', {}, end)
export const checked = defineTask(
  'checked:1.0',
  { ...inThreads, args: { type: 'object', required: ['n'] }, result: { type: 'number' } },
  ({ n }) => n,
)
export const tell = defineTask('tell:1.0', { ...inThreads, threads: 1 }, async (args, ctx) => {
  runs++
  const { id, task, from, attempt } = ctx
  ctx.log.info('told', { rows: 3, price: new Money(100), error: new Error('shown'), run: () => 1, big: 5n })
  return { args, id, task, from, attempt, remainingMs: ctx.remainingMs(), threadId, isMainThread, runs }
})
export const computing = defineTask('computing:1.0', { ...inThreads, timeoutMs: 60_000, retries: 0 }, compute)
export const single = defineTask('single:1.0', { threads: 1, module, timeoutMs: 20_000 }, compute)
export const heeding = defineTask(
  'heeding:1.0',
  { threads: 1, module, timeoutMs: 20_000 },
  async ({ begun, ended }, ctx) => {
    writeFileSync(begun, String(threadId))
    await delay(60_000, undefined, { signal: ctx.signal }).catch(() => undefined)
    writeFileSync(ended, `${ctx.signal.reason.code} ${ctx.signal.reason instanceof HubError} ${ctx.remainingMs() > 0}`)
    return { threadId }
  },
)
export const heedingHere = defineTask('heeding_here:1.0', {}, async (_, ctx) => {
  await new Promise(resolve => ctx.signal.addEventListener('abort', resolve))
  throw ctx.signal.reason
})
export const rethrowing = defineTask('rethrowing:1.0', inThreads, heedingHere.handler)
export const calling = defineTask('calling:1.0', inThreads, async ({ task, args, cancelMs, timeoutMs }, ctx) => {
  const signal = cancelMs === undefined ? undefined : AbortSignal.timeout(cancelMs)
  try {
    const given = args === 'unsendable' ? { n: new Set() } : args
    return { answer: await ctx.call(task, given, { ...(signal && { signal }), ...(timeoutMs && { timeoutMs }) }) }
  } catch (error) {
    const { code, message, data, ran } = error
    return { caught: { isHubError: error instanceof HubError, code, message, data, ran } }
  }
})
/** It ends while a call of its own is under way, whose end a file tells. */
export const leaving = defineTask('leaving:1.0', inThreads, ({ how, answered, begun }, ctx) => {
  ctx.call('gated:1.0', { begun, until: answered }).then(() => writeFileSync(`${answered}-heard`, ''))
  if (how === 'returns') return 'gone'
  return new Promise(() => {
    const timer = setInterval(() => {
      if (!existsSync(begun)) return
      clearInterval(timer)
      process.exit(5)
    }, 5)
  })
})
export const gated = defineTask('gated:1.0', { timeoutMs: 20_000 }, async ({ begun, until }, ctx) => {
  writeFileSync(begun, '')
  while (!existsSync(until) && !ctx.signal.aborted) await delay(5)
  if (ctx.signal.aborted) writeFileSync(`${begun}-aborted`, ctx.signal.reason.code)
})
export const passing = defineTask('passing:1.0', inThreads, ({ task, args }, ctx) => ctx.call(task, args))
export const passingHere = defineTask('passing_here:1.0', {}, ({ task, args }, ctx) => ctx.call(task, args))
export const dying = defineTask('dying:1.0', { ...inThreads, retries: 0 }, async ({ how }) => {
  if (how === 'exit') process.exit(3)
  if (how === 'uncaught')
    setImmediate(() => {
      throw new Error('thrown by a timer')
    })
  if (how === 'memory') {
    const all = []
    for (;;) all.push(new Array(100_000).fill(all.length))
  }
  if (how === 'stray') {
    Promise.reject(new Error('astray'))
    await delay(20)
    return { threadId }
  }
  await delay(60_000)
})
export const echo = defineTask('echo:1.0', {}, (args, ctx) => ({ args, remainingMs: ctx.remainingMs(), isMainThread }))
export const slow = defineTask('slow:1.0', { timeoutMs: 20_000 }, (_, ctx) =>
  delay(20_000, undefined, { signal: ctx.signal }),
)
export const chatty = defineTask('chatty:1.0', inThreads, ({ lines, how }, ctx) => {
  for (let n = 0; n < lines; n++) ctx.log.info('line', { n })
  if (how === 'dies') process.exit(1)
})
export const failing = defineTask('failing:1.0', {}, () => {
  throw new TaskError('no luck', { data: { why: 'chance' } })
})
/** Blocks the loop behind an await, where one handler cannot be told from the others. */
export const blocking = defineTask('blocking:1.0', { timeoutMs: 20_000 }, async ({ ms }) => {
  await delay(1)
  const end = performance.now() + ms
  while (performance.now() < end);
})
export const steps = defineTask('steps:1.0', inThreads, async (count, ctx) => {
  for (let done = 1; done <= count; done++) {
    ctx.progress({ done })
    await delay(300)
  }
})
export const counting = defineTask('counting:1.0', inThreads, function* ({ count, returned }) {
  for (let n = 1; n <= count; n++) yield { n, isMainThread, threadId }
  return returned
})
/** Tells by the length of a file how much it has yielded, and by another one when it has ended. */
export const endless = defineTask(
  'endless:1.0',
  { threads: 1, module, timeoutMs: 30_000 },
  async function* ({ yielded }) {
    try {
      for (;;) {
        appendFileSync(yielded, '.')
        yield threadId
      }
    } finally {
      writeFileSync(`${yielded}-ended`, String(threadId))
    }
  },
)
/** Some chunks, and then something else. */
const behind = {
  throws: () => {
    throw new TaskError('no luck', { code: 'NoLuck' })
  },
  dies: () => process.exit(7),
  unsendable: () => new Set(),
  large: () => 'x'.repeat(2_000_000),
  stubborn: () => 'x'.repeat(2_000_000),
  computes: () => {
    for (;;);
  },
}
const yieldsThen = async function* ({ how }) {
  try {
    yield threadId
    yield threadId
    yield behind[how]()
  } finally {
    while (how === 'stubborn');
  }
}
export const yielding = defineTask('yielding:1.0', { threads: 1, module, timeoutMs: 20_000 }, yieldsThen)
export const yieldingHere = defineTask('yielding_here:1.0', {}, yieldsThen)
export const unreadable = defineTask('unreadable:1.0', inThreads, async () => yieldsThen({}))

export const all = [
  steps,
  ...[counting, endless, yielding, yieldingHere, unreadable],
  ...[ending, endingHere, checked, tell, computing, single, heeding, heedingHere, rethrowing, calling, passing],
  ...[chatty, leaving, gated, passingHere, dying, echo, slow, failing, blocking],
]
