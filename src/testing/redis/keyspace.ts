import { type Reply, wrongType } from './reply.ts'
import { SortedSet } from './sorted-set.ts'

/** What a key may hold, by the name that TYPE says. */
interface Kinds {
  string: { text: string }
  list: string[]
  hash: Map<string, string>
  set: Set<string>
  zset: SortedSet
}
type Kind = keyof Kinds

interface Entry {
  kind: Kind
  value: Kinds[Kind]
  /** Milliseconds of Redis; undefined: it stays. */
  expiresAt: number | undefined
}

const made: { [K in Kind]: () => Kinds[K] } = {
  string: () => ({ text: '' }),
  list: () => [],
  hash: () => new Map(),
  set: () => new Set(),
  zset: () => new SortedSet(),
}

/** The keys of this Redis. What has come to its end is gone with the next look at it, as nobody can tell from the outside. */
export class Keyspace {
  readonly #entries = new Map<string, Entry>()
  readonly nowMs: () => number

  constructor(nowMs: () => number) {
    this.nowMs = nowMs
  }

  /** @throws RedisError when the key holds something else */
  get<K extends Kind>(key: string, kind: K): Kinds[K] | undefined {
    const entry = this.#live(key)
    if (entry && entry.kind !== kind) throw wrongType()
    return entry?.value as Kinds[K] | undefined
  }

  /** The same, made where it is missing. */
  made<K extends Kind>(key: string, kind: K): Kinds[K] {
    const there = this.get(key, kind)
    if (there) return there
    const value = made[kind]()
    this.#entries.set(key, { kind, value, expiresAt: undefined })
    return value
  }

  /** An empty list, hash or set is none. Called behind whatever takes something out. */
  dropEmpty(key: string): void {
    const value = this.#entries.get(key)?.value
    if (!value || 'text' in value) return
    if ((Array.isArray(value) ? value.length : value.size) === 0) this.#entries.delete(key)
  }

  kindOf(key: string): Kind | 'none' {
    return this.#live(key)?.kind ?? 'none'
  }

  delete(key: string): boolean {
    return this.#live(key) !== undefined && this.#entries.delete(key)
  }

  /** Sets when a key ends, or that it stays. Returns whether there is one. */
  expire(key: string, atMs: number | undefined): boolean {
    const entry = this.#live(key)
    if (!entry) return false
    entry.expiresAt = atMs
    return true
  }

  /** When it ends; undefined: it stays, or is not there. */
  endOf(key: string): number | undefined {
    return this.#live(key)?.expiresAt
  }

  /** Names of all that are there, in no order. */
  names(): string[] {
    return [...this.#entries.keys()].filter(key => this.#live(key) !== undefined)
  }

  clear(): void {
    this.#entries.clear()
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry?.expiresAt === undefined || entry.expiresAt > this.nowMs()) return entry
    this.#entries.delete(key)
    return undefined
  }
}

export type Run = (keys: Keyspace, words: string[]) => Reply

/** By name: how many words must follow, and what it does. */
export type Commands = Readonly<Record<string, readonly [leastWords: number, run: Run]>>
