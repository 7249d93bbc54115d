import type { Redis } from '../redis/connection.ts'
import { run } from '../redis/library.ts'
import { type Beat, readBeat } from '../wire/answers.ts'

/** Keys and arguments of the beat for one queue, as `Queue.beatOf` makes them. */
export interface BeatWords {
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

export interface Beaten {
  beat: Beat
  /** Ids of what the worker holds there; undefined where Redis does not say so. */
  held: string[] | undefined
  /** True if calls or jobs wait, or jobs with keys run, whatever the bells say. */
  hasWork: boolean
}

/** Queues per command. Redis is blocked for a millisecond or two while it beats for so many. */
export const beatsAtOnce = 64

/** Beats for several queues in one step; on a Cluster these share a slot. A queue whose keys cause an error gets that error in place of an answer. */
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
