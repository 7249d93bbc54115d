import type { Redis } from '../redis/connection.ts'
import { run } from '../redis/library.ts'
import { type Beat, readBeat } from '../wire/answers.ts'

/** A beat for one queue: what `queue/queue.ts` `beatOf` makes. */
export interface BeatWords {
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

export interface Beaten {
  beat: Beat
  /** Ids of what the worker holds there; undefined where Redis does not say so. */
  held: string[] | undefined
  /** Calls or jobs wait there, whatever its bells say; also while jobs with keys run. */
  hasWork: boolean
}

/** Redis does nothing else while it beats: for so many queues a millisecond or two. */
export const beatsAtOnce = 64

/** Beats for several queues in one step; on a Cluster they are in one slot. Redis' error stands in the place of a queue whose keys cause one. */
export const beatAll = async (client: Redis, beats: readonly BeatWords[]): Promise<(Beaten | Error)[]> => {
  const keys = beats.flatMap(beat => beat.keys)
  const args = beats.flatMap(beat => beat.args)
  const answers = (await run(client, 'beats', keys, args)) as ([unknown, string[] | null, number] | string)[]
  return answers.map(answer => {
    if (typeof answer === 'string') return Object.assign(new Error(answer), { name: 'ReplyError' })
    const [beat, held, hasWork] = answer
    return { beat: readBeat(beat), held: held ?? undefined, hasWork: hasWork === 1 }
  })
}
