import { describe, expect, it } from 'vitest'
import { Turns } from '../../registry/server/turns.ts'

/** Work that is done when it is told. */
const work = () => {
  let finish: (error?: Error) => void = () => undefined
  let isBegun = false
  const done = new Promise<void>((resolve, reject) => {
    finish = error => (error ? reject(error) : resolve())
  })
  return {
    run: async () => {
      isBegun = true
      await done
    },
    finish: (error?: Error) => finish(error),
    get isBegun() {
      return isBegun
    },
  }
}
const settled = () => new Promise(resolve => setImmediate(resolve))

describe('turns', () => {
  it('are taken by so many at a time, in order, whatever becomes of the work', async () => {
    const turns = new Turns(2)
    const all = [work(), work(), work(), work()]
    const taken = all.map(each => turns.take(each.run).catch((error: Error) => error.message))
    const begun = () => all.map(each => each.isBegun)
    await settled()
    expect(begun()).toEqual([true, true, false, false])
    all[1]!.finish(new Error('it failed'))
    await settled()
    expect(begun()).toEqual([true, true, true, false])
    for (const each of all) each.finish()
    expect(await Promise.all(taken)).toEqual([undefined, 'it failed', undefined, undefined])
    expect(await turns.take(async () => 'free again')).toBe('free again')
  })

  it('are refused when too many wait', async () => {
    const turns = new Turns(1)
    const first = work()
    const taken = [turns.take(first.run), ...Array.from({ length: 100 }, () => turns.take(async () => undefined))]
    await expect(turns.take(async () => undefined)).rejects.toMatchObject({ status: 503, code: 'Unavailable' })
    first.finish()
    await Promise.all(taken)
  })
})
