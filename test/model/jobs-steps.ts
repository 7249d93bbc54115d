import fc from 'fast-check'
import type { JobSpec, Outcome } from './jobs-model.ts'

/** Which of those that a step can act on; the other numbers likewise. */
type Which = number

/** Something that happens. What has nothing to act on does nothing, so that any sequence of steps can run. */
export type Step =
  /** `batch`: one of those that are open. */
  | {
      do: 'enqueue'
      queue: string
      specs: (Omit<JobSpec, 'batch'> & { batch: Which | undefined })[]
      isGivenUp: boolean
    }
  | { do: 'enqueueAgain' }
  | { do: 'claim'; queue: string; worker: string; slots: number; isGivenUp: boolean }
  /** `following`: the queue of the next step of its chain. */
  | { do: 'settle'; which: Which; outcome: Outcome; following: string | undefined; isGivenUp: boolean }
  | { do: 'adopt'; queue: string; worker: string; deaths: number }
  | { do: 'leave' | 'openBatch' | 'reconnect'; queue: string; worker: string }
  /** What a worker holds and does not know of goes back. */
  | { do: 'handback'; queue: string; worker: string; isGivenUp: boolean }
  | { do: 'sendOut'; which: Which; isReleased: boolean; isGivenUp: boolean }
  | { do: 'ripen' | 'hasten' | 'withdraw' | 'revive' | 'closeBatch' | 'arrive'; which: Which }

/** What runs can have more of than usual: a kind of step, jobs of a kind, batches, chains, tries, and deaths in a row. */
export type Piece = Step['do'] | 'tracked' | 'unique' | 'batch' | 'retry' | 'putoff' | 'dead' | 'chain' | 'killer'

const anySpec = (often: ReadonlySet<Piece>) =>
  fc.record({
    keep: often.has('tracked') ? fc.constant(true) : fc.boolean(),
    unique: fc.option(fc.constantFrom('u:1', 'u:{2}'), { nil: undefined, freq: often.has('unique') ? 8 : 3 }),
    isUntilStarted: fc.boolean(),
    priority: fc.option(fc.constantFrom('high' as const, 'low' as const), { nil: undefined, freq: 3 }),
    isLater: fc.constantFrom(false, false, false, true),
    batch: fc.option(fc.nat(3), { nil: undefined, freq: often.has('batch') ? 8 : 2 }),
  })

const queue = fc.constantFrom('q', 'r')
const worker = fc.constantFrom('a', 'b')
const which = fc.nat(1000)
const anyOutcome = fc.constantFrom<Outcome[]>('done', 'done', 'retry', 'putoff', 'dead', 'expired', 'cancelled')

const anyStep = (often: ReadonlySet<Piece>): fc.Arbitrary<Step> => {
  const step = <Kind extends Step['do'], Rest extends object>(
    weight: number,
    kind: Kind,
    rest: fc.Arbitrary<Rest>,
  ) => ({
    weight: often.has(kind) ? weight * 8 : weight,
    arbitrary: rest.map(given => ({ do: kind, ...given })),
  })
  const frequent = [
    ...(often.has('retry') ? ['retry' as const] : []),
    ...(often.has('putoff') ? ['putoff' as const] : []),
    ...(often.has('dead') ? ['dead' as const] : []),
    ...(often.has('chain') ? ['done' as const] : []),
  ]
  const outcome = fc.oneof(...frequent.map(each => ({ weight: 2, arbitrary: fc.constant(each) })), anyOutcome)
  // Whether the connection breaks before the answer is there: see wire.ts.
  const isGivenUp = fc.constantFrom(true, false, ...(often.has('arrive') ? [] : [false]))
  const following = fc.option(queue, { nil: undefined, freq: often.has('chain') ? 8 : 2 })
  const deaths = fc.integer({ min: often.has('killer') ? 3 : 1, max: 3 })
  return fc.oneof(
    step(
      6,
      'enqueue',
      fc.record({ queue, specs: fc.array(anySpec(often), { minLength: 1, maxLength: 4 }), isGivenUp }),
    ),
    step(1, 'enqueueAgain', fc.constant({})),
    step(3, 'ripen', fc.record({ which })),
    step(1, 'hasten', fc.record({ which })),
    step(6, 'claim', fc.record({ queue, worker, slots: fc.integer({ min: 1, max: 4 }), isGivenUp })),
    step(8, 'settle', fc.record({ which, outcome, following, isGivenUp })),
    step(1, 'adopt', fc.record({ queue, worker, deaths })),
    step(1, 'leave', fc.record({ queue, worker })),
    step(1, 'withdraw', fc.record({ which })),
    step(1, 'revive', fc.record({ which })),
    step(3, 'sendOut', fc.record({ which, isReleased: fc.boolean(), isGivenUp })),
    step(2, 'handback', fc.record({ queue, worker, isGivenUp })),
    step(2, 'arrive', fc.record({ which })),
    step(1, 'reconnect', fc.record({ queue, worker })),
    step(often.has('batch') ? 4 : 1, 'openBatch', fc.record({ queue, worker })),
    step(1, 'closeBatch', fc.record({ which })),
  )
}

/** Anything that may happen, long enough for jobs to get somewhere. `often`: of these there is more. */
export const anySteps = (often: readonly Piece[] = []): fc.Arbitrary<Step[]> =>
  fc.array(anyStep(new Set(often)), { minLength: 10, maxLength: 70, size: 'max' })

/** Runs of several kinds, because what is seldom in all of them is frequent in some. */
export const anyRun = (): fc.Arbitrary<Step[]> =>
  fc.oneof(
    anySteps(),
    { weight: 2, arbitrary: anySteps(['tracked', 'claim', 'withdraw', 'retry']) },
    anySteps(['batch', 'adopt', 'killer']),
    anySteps(['batch', 'chain', 'sendOut']),
    anySteps(['unique', 'batch', 'sendOut']),
    anySteps(['unique', 'enqueue', 'claim', 'settle', 'dead', 'revive']),
  )
