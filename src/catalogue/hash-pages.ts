import type { Redis } from '../redis/connection.ts'
import { maxRecordLength, Unreadable } from '../wire/foreign.ts'
import { makePauses } from './in-pieces.ts'

/** What is longer is not even fetched; no record that can be read takes so many bytes. */
const maxRecordBytes = 4 * maxRecordLength
/** Bytes of several fields in one answer: it takes Redis a fraction of a millisecond. */
const mostBytesAtOnce = 262_144

/** @throws Unreadable */
export type Read<T> = (text: string, field: string) => T

interface Asker {
  ask<T>(client: Redis, nothing: T, name: string, key: string, ...args: (string | number)[]): Promise<T>
  noteUnreadable(key: string, reason: string, field?: string): void
}

/**
 * Fields of a hash, in their order, page by page; undefined for what is missing or cannot be read. Asked for their lengths first: one field of many
 * megabytes would hold up all that this connection is for, and many long ones in one answer Redis itself.
 */
export async function* pagesOfHash<T>(
  asker: Asker,
  client: Redis,
  key: string,
  fields: string[],
  read: Read<T>,
  size: number,
): AsyncGenerator<(T | undefined)[]> {
  const pause = makePauses()
  for (let from = 0; from < fields.length; from += size) {
    const some = fields.slice(from, from + size)
    const lengths = await Promise.all(some.map(field => asker.ask(client, 0, 'hstrlen', key, field)))
    const texts = new Map<string, string | null>()
    for (const group of inGroups(some, lengths)) {
      const answer = await asker.ask<(string | null)[]>(client, [], 'hmget', key, ...group)
      for (const [at, field] of group.entries()) texts.set(field, answer[at] ?? null)
    }
    const values: (T | undefined)[] = []
    for (const field of some) {
      values.push(readOne(asker, key, field, texts.get(field), read))
      await pause()
    }
    yield values
  }
}

/** `text` is null where there is none, and undefined where it is too long. */
const readOne = <T>(
  asker: Asker,
  key: string,
  field: string,
  text: string | null | undefined,
  read: Read<T>,
): T | undefined => {
  try {
    if (text === undefined) throw new Unreadable(`it is longer than ${maxRecordBytes} bytes`)
    return text === null ? undefined : read(text, field)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    asker.noteUnreadable(key, error.message, field.slice(0, 256))
    return undefined
  }
}

/** Fields that are fetched together, without those that are too long. */
const inGroups = (fields: readonly string[], lengths: readonly number[]): string[][] => {
  const groups: string[][] = []
  let room = 0
  for (const [at, field] of fields.entries()) {
    const length = lengths[at]!
    if (length > maxRecordBytes) continue
    if (groups.length === 0 || length > room) {
      groups.push([])
      room = mostBytesAtOnce
    }
    groups.at(-1)!.push(field)
    room -= length
  }
  return groups
}
