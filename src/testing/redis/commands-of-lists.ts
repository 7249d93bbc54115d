import { integerOf, rangeOf } from './commands-of-keys.ts'
import type { Commands, Keyspace } from './keyspace.ts'
import { ok, type Reply } from './reply.ts'

const lpop = (keys: Keyspace, [key, count]: string[]): Reply => {
  const list = keys.get(key!, 'list')
  if (!list) return null
  const taken = list.splice(0, count === undefined ? 1 : integerOf(count))
  keys.dropEmpty(key!)
  return count === undefined ? (taken[0] ?? null) : taken
}

const push =
  (isAtHead: boolean) =>
  (keys: Keyspace, [key, ...texts]: string[]): Reply => {
    const list = keys.made(key!, 'list')
    if (isAtHead) list.unshift(...texts.reverse())
    // Not spread: a list may be longer than what a function takes.
    else for (const text of texts) list.push(text)
    return list.length
  }

const lindex = (keys: Keyspace, [key, place]: string[]): Reply => keys.get(key!, 'list')?.at(integerOf(place)) ?? null

const ltrim = (keys: Keyspace, [key, first, last]: string[]): Reply => {
  const list = keys.get(key!, 'list')
  if (!list) return ok
  const kept = list.slice(...rangeOf(first, last, list.length))
  list.splice(0, list.length, ...kept)
  keys.dropEmpty(key!)
  return ok
}

/** A count above 0: so many from the head; below: from the tail; 0: all. */
const lrem = (keys: Keyspace, [key, count, text]: string[]): Reply => {
  const list = keys.get(key!, 'list')
  if (!list) return 0
  const most = integerOf(count)
  let left = most === 0 ? list.length : Math.abs(most)
  const places = [...list.keys()]
  const gone = new Set<number>()
  for (const place of most < 0 ? places.reverse() : places) {
    if (left <= 0 || list[place] !== text) continue
    gone.add(place)
    left--
  }
  const kept = list.filter((_, place) => !gone.has(place))
  list.splice(0, list.length, ...kept)
  keys.dropEmpty(key!)
  return gone.size
}

const lpos = (keys: Keyspace, [key, text]: string[]): Reply => {
  const place = keys.get(key!, 'list')?.indexOf(text!) ?? -1
  return place < 0 ? null : place
}

/** From the head of one list to the tail of another, or as LEFT and RIGHT say; null when there is nothing. */
export const moveOne = (keys: Keyspace, [from, to, whence, whither]: string[]): string | null => {
  const list = keys.get(from!, 'list')
  if (!list) return null
  // What the other one is, is looked at before anything is taken.
  keys.get(to!, 'list')
  const text = (whence!.toUpperCase() === 'LEFT' ? list.shift() : list.pop())!
  const other = keys.made(to!, 'list')
  if (whither!.toUpperCase() === 'LEFT') other.unshift(text)
  else other.push(text)
  keys.dropEmpty(from!)
  return text
}

export const commandsOfLists: Commands = {
  lpush: [2, push(true)],
  rpush: [2, push(false)],
  lpop: [1, lpop],
  llen: [1, (keys, [key]) => keys.get(key!, 'list')?.length ?? 0],
  lindex: [2, lindex],
  lrange: [
    3,
    (keys, [key, first, last]) => {
      const list = keys.get(key!, 'list') ?? []
      return list.slice(...rangeOf(first, last, list.length))
    },
  ],
  ltrim: [3, ltrim],
  lrem: [3, lrem],
  lpos: [2, lpos],
}
