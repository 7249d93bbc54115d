import { describe, expect, it } from 'vitest'
import type { Connection } from '../../src/redis/connection.ts'
import { Beats } from '../../src/worker/queues/beats.ts'

const words = { keys: Array(7).fill('k'), args: Array(7).fill(1) }
const answer = [['1', 1, [], [], []], [], 0]

/** Those of a worker whose Redis answers at once, and how many queues each command was for. */
const beating = (isCluster: boolean) => {
  const sent: number[] = []
  const sendCommand = async ({ args }: { args: (number | string)[] }) => {
    const count = Number(args[1]) / 7
    sent.push(count)
    if (args.includes('forbidden')) throw Object.assign(new Error('NOPERM'), { name: 'ReplyError' })
    return Array(count).fill(answer)
  }
  const send = (act: (client: unknown) => unknown) => act({ sendCommand })
  return { sent, beats: new Beats({ isCluster, send } as unknown as Connection) }
}

describe('the beats of a worker', () => {
  it('for several queues take one command, which is never for more than Redis does in a moment', async () => {
    const { sent, beats } = beating(false)
    await Promise.all(Array.from({ length: 100 }, () => beats.ask(words)))
    expect(sent).toEqual([64, 36])
  })

  it('are sent again one by one where Redis rejects all of them for one queue', async () => {
    const { sent, beats } = beating(false)
    const forbidden = { ...words, keys: Array(7).fill('forbidden') }
    const asked = [words, forbidden, words].map(each =>
      beats.ask(each).then(
        () => 'kept',
        error => error.message,
      ),
    )
    expect(await Promise.all(asked)).toEqual(['kept', 'NOPERM', 'kept'])
    expect(sent).toEqual([3, 1, 1, 1])
  })

  it('take one for each queue of a Cluster', async () => {
    const { sent, beats } = beating(true)
    await Promise.all([beats.ask(words), beats.ask(words)])
    expect(sent).toEqual([1, 1])
  })

  it('come together, whoever is ready first, and hold nobody up who stops', async () => {
    const { beats } = beating(false)
    const stopping = new AbortController()
    const woken: string[] = []
    const pause = (name: string, ms: number, signal = new AbortController().signal) =>
      beats.pause(ms, signal).then(() => woken.push(name))
    const stopped = pause('stops', 60_000, stopping.signal)
    stopping.abort()
    await stopped
    await Promise.all([pause('late', 60_000), pause('soon', 1)])
    expect(woken).toEqual(['stops', 'late', 'soon'])
  })
})
