import { describe, expect, it } from 'vitest'
import { monotonicMs } from '../../src/wire/clock.ts'
import type { WorkerContext } from '../../src/worker/context.ts'
import { Reconcile } from '../../src/worker/roles/reconcile.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'

/** A worker that knows of nothing at first, while Redis says that it holds something. */
const holding = () => {
  const putBack: string[][] = []
  const releasedAgain: string[][] = []
  const problems: string[] = []
  const slots = new Slots(new SlotPool(1, 1))
  const context = {
    queue: {
      handback: async (...[, , , ids]: [unknown, string, string, string[]]) => putBack.push(ids),
      release: async (...[, , ids]: [unknown, string, string[]]) => releasedAgain.push(ids),
    },
    commands: { send: (act: (client: undefined) => unknown) => act(undefined) },
    slots,
    workerId: () => 'w',
    intake: { ignoreClaimsOf: () => undefined },
    problem: (where: string) => () => problems.push(where),
  } as unknown as WorkerContext
  return { reconcile: new Reconcile(context), slots, putBack, releasedAgain, problems }
}

const held = ['job:a']
const aMoment = () => new Promise(resolve => setTimeout(resolve, 2))

describe('what Redis says is held, and the worker does not know', () => {
  it('goes back when two looks found it, the second one of a beat that was sent behind the first', async () => {
    const { reconcile, putBack } = holding()
    await reconcile.look(held, 1, monotonicMs())
    await aMoment()
    await reconcile.look(held, 2, monotonicMs())
    expect(putBack).toEqual([['job:a']])
  })

  it('stays as long as both looks may have met its claim on its way', async () => {
    const { reconcile, putBack } = holding()
    const sentAt = monotonicMs()
    await Promise.all([reconcile.look(held, 1, sentAt), reconcile.look(held, 2, sentAt)])
    await reconcile.look(held, 3, sentAt)
    expect(putBack).toEqual([])
    await aMoment()
    await reconcile.look(held, 4, monotonicMs())
    expect(putBack).toEqual([['job:a']])
  })

  it('is no forgotten end where it came and ended between two looks, and the second beat was answered before', async () => {
    const { reconcile, slots, releasedAgain, problems } = holding()
    await reconcile.look(['r'], 1, monotonicMs())
    slots.know('r')
    await aMoment()
    const sentAt = monotonicMs()
    slots.released(['r'])
    await reconcile.look(['r'], 2, sentAt)
    expect([problems, releasedAgain]).toEqual([[], []])
    await aMoment()
    await reconcile.look(['r'], 3, monotonicMs())
    expect([problems, releasedAgain]).toEqual([['failover'], [['r']]])
  })

  it('does not go back where it is a job that came and ended between two looks', async () => {
    const { reconcile, slots, putBack } = holding()
    await reconcile.look(held, 1, monotonicMs())
    slots.know('job:a')
    await aMoment()
    const sentAt = monotonicMs()
    slots.forget(held)
    await reconcile.look(held, 2, sentAt)
    expect(putBack).toEqual([])
  })
})
