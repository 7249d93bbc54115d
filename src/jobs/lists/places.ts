import { isQueueName } from '../../wire/keys.ts'

/** Where a look at several queues goes on: how many jobs of each were passed. A queue that is not named is through. */
export type Places = ReadonlyMap<string, number>

/** As it travels: `mail:40,reports:60`. Undefined when all queues are through. */
export const placesText = (places: Places): string | undefined =>
  places.size === 0 ? undefined : [...places].map(([queue, place]) => `${queue}:${place}`).join(',')

/** Undefined for what is no such text. */
export const placesOf = (text: string): Places | undefined => {
  const places = new Map<string, number>()
  for (const part of text.split(',')) {
    const [, queue, place] = /^([^:]*):(\d{1,12})$/.exec(part) ?? []
    if (!isQueueName(queue)) return undefined
    places.set(queue, Number(place))
  }
  return places
}
