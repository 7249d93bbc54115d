import { describe, expect, it } from 'vitest'
import { monotonicMs } from '../../src/wire/clock.ts'
import type { WorkerContext } from '../../src/worker/context.ts'
import { Reconcile } from '../../src/worker/roles/reconcile.ts'
import { delay } from '../support/delay.ts'

/** A worker that knows of nothing, while Redis says that it holds a job. */
const holding = () => {
  const putBack: string[][] = []
  const context = {
    queue: {
      handback: async (...[, , , ids]: [unknown, string, string, string[]]) => putBack.push(ids),
    },
    commands: { send: (act: (client: undefined) => unknown) => act(undefined) },
    slots: { knows: () => false, wasReleased: () => false },
    workerId: () => 'w',
    intake: { ignoreClaimsOf: () => undefined },
    problem: () => () => undefined,
  } as unknown as WorkerContext
  return { reconcile: new Reconcile(context), putBack }
}

const held = ['job:a']

describe('what Redis says is held, and the worker does not know', () => {
  it('goes back when two looks found it, the second one of a beat that was sent behind the first', async () => {
    const { reconcile, putBack } = holding()
    await reconcile.look(held, 1, monotonicMs())
    await delay(2, 'the next look must be at a later time of the clock')
    await reconcile.look(held, 2, monotonicMs())
    expect(putBack).toEqual([['job:a']])
  })

  it('stays as long as both looks may have met its claim on its way', async () => {
    const { reconcile, putBack } = holding()
    const sentAt = monotonicMs()
    await Promise.all([reconcile.look(held, 1, sentAt), reconcile.look(held, 2, sentAt)])
    await reconcile.look(held, 3, sentAt)
    expect(putBack).toEqual([])
    await delay(2, 'the next look must be at a later time of the clock')
    await reconcile.look(held, 4, monotonicMs())
    expect(putBack).toEqual([['job:a']])
  })
})
