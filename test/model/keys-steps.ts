import fc from 'fast-check'
import { allTasks, type JobOutcome, type KeyAct, lineTask, type Rule } from './keys-model.ts'

/** Which of those that a step can act on. */
type Which = number

export interface KeySpec {
  task: string
  key: string
  payload: string
  score: number | undefined
  delayMs: number
}

/** Something that happens. What has nothing to act on does nothing, so that any sequence of steps can run. */
export type KeyStep =
  | { do: 'enqueue'; specs: KeySpec[] }
  /** Without a rule it merges no task. */
  | { do: 'claim'; worker: string; slots: number; rule: Rule | undefined; bytes: number }
  /** `words`: of the keys of a run, one after the other; none where it went well. Of a job its outcome and delay. */
  | {
      do: 'settle'
      which: Which
      words: string[] | undefined
      outcome: JobOutcome
      delayMs: number
      isGivenUp: boolean
    }
  | { do: 'handback'; worker: string; mask: number; isGivenUp: boolean }
  | { do: 'arrive'; which: Which }
  | { do: 'reconnect'; worker: string }
  | { do: 'adopt'; worker: string; deaths: number }
  | { do: 'leave' | 'lose'; worker: string }
  | { do: 'key'; task: string; key: string; act: KeyAct }
  | { do: 'revive'; which: Which }
  | { do: 'clock'; byMs: number }
  | { do: 'due' | 'orphans' }

/** With all that could be taken for an end of something. */
const key = fc.constantFrom('x', 'y z', 'é[{"\\')
const payload = fc.constantFrom('1', '"}]"', '{"a":[{}]}', '"é"', '-2.5')
const task = fc.constantFrom(...allTasks)
const worker = fc.constantFrom('a', 'b')
const which = fc.nat(1000)
const delayMs = fc.constantFrom(0, 0, 0, 5, 70_000)
const score = fc.option(fc.constantFrom(-1, 0, 1.5, 3), { nil: undefined })
const spec = fc.record({ task, key, payload, score, delayMs })
const rule = fc.option(fc.record({ batch: fc.integer({ min: 1, max: 3 }), payloads: fc.integer({ min: 1, max: 4 }) }), {
  nil: undefined,
  freq: 6,
})
const bytes = fc.constantFrom(1_000_000, 1_000_000, 1, 12, 150)
/** `d` names a place that is taken modulo how many there are. */
const word = fc.constantFrom('r0', 'r7', 'r70000', 'd1', 'd2', 'b0', 'b9')
const outcome = fc.constantFrom<JobOutcome[]>('done', 'done', 'retry', 'pass', 'putoff', 'dead', 'expired')
const act = fc.constantFrom<KeyAct[]>('run', 'skip', 'delete')
const words = fc.option(fc.array(word, { minLength: 3, maxLength: 3 }), { nil: undefined, freq: 2 })
/** Whether the connection breaks before the answer is there: see wire.ts. */
const isGivenUp = fc.constantFrom(false, false, true)
const slots = fc.integer({ min: 1, max: 4 })
const byMs = fc.constantFrom(1, 10, 6000, 100_000, -5, -3_600_000)

const step = <Kind extends KeyStep['do'], Rest extends object>(
  weight: number,
  kind: Kind,
  rest: fc.Arbitrary<Rest>,
) => ({ weight, arbitrary: rest.map(given => ({ do: kind, ...given })) })

const anyStep: fc.Arbitrary<KeyStep> = fc.oneof(
  step(8, 'enqueue', fc.record({ specs: fc.array(spec, { minLength: 1, maxLength: 4 }) })),
  step(8, 'claim', fc.record({ worker, slots, rule, bytes })),
  step(8, 'settle', fc.record({ which, words, outcome, delayMs, isGivenUp })),
  step(1, 'handback', fc.record({ worker, mask: fc.integer({ min: 1, max: 7 }), isGivenUp })),
  step(2, 'arrive', fc.record({ which })),
  step(1, 'reconnect', fc.record({ worker })),
  step(2, 'adopt', fc.record({ worker, deaths: fc.constantFrom(1, 1, 3, 4) })),
  step(1, 'leave', fc.record({ worker })),
  step(1, 'lose', fc.record({ worker })),
  step(2, 'key', fc.record({ task, key, act })),
  step(2, 'revive', fc.record({ which })),
  step(3, 'clock', fc.record({ byMs })),
  step(3, 'due', fc.constant({})),
  step(2, 'orphans', fc.constant({})),
)

const manyOf = (step: fc.Arbitrary<KeyStep>): fc.Arbitrary<KeyStep[]> =>
  fc.array(step, { minLength: 10, maxLength: 60, size: 'max' })

export const anyKeySteps = (): fc.Arbitrary<KeyStep[]> => manyOf(anyStep)

/** Jobs of lines whose workers' connections break all the time: what is seldom in all runs comes up. */
export const anyLossyKeySteps = (): fc.Arbitrary<KeyStep[]> => {
  const one = fc.record({ task: fc.constant(lineTask), key, payload, score, delayMs: fc.constant(0) })
  const again = {
    which,
    words: fc.constant(undefined),
    outcome: fc.constant<JobOutcome>('retry'),
    delayMs: fc.constant(0),
  }
  return manyOf(
    fc.oneof(
      step(1, 'enqueue', fc.record({ specs: fc.tuple(one) })),
      step(3, 'claim', fc.record({ worker, slots, rule, bytes: fc.constant(1_000_000) })),
      step(3, 'settle', fc.record({ ...again, isGivenUp: fc.boolean() })),
      step(1, 'handback', fc.record({ worker, mask: fc.constant(7), isGivenUp: fc.boolean() })),
      step(2, 'due', fc.constant({})),
      step(2, 'arrive', fc.record({ which })),
    ),
  )
}
