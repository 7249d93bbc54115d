import { slotCount } from './slots.ts'
import type { Address } from './target.ts'

export const textOf = ({ host, port }: Address): string => `${host}:${port}`

/** The last colon: an IPv6 address has others. */
export const addressOf = (text: string): Address => {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) }
}

/** How CLUSTER SLOTS answers: from, to, the master, its replicas. */
type Ranges = readonly (readonly [number, number, readonly [string | null, number, string?, unknown?], ...unknown[]])[]

/** Undefined: the host that was asked. A node that is to be named and has no name is a `?`, with its address behind that. */
const hostOf = (host: string | null, further: unknown): string | undefined => {
  if (host !== '?') return host || undefined
  const at = Array.isArray(further) ? further.indexOf('ip') : -1
  return at < 0 ? undefined : String((further as unknown[])[at + 1])
}

/** Who sends commands to the nodes. */
export interface TopologyUser {
  /** Somebody who is needed is away, or not known. */
  readonly lacksOne: boolean
}

/** Which node of a Cluster serves which slot, as far as is known. Shared by the connections of one hub or worker. */
export class Topology {
  #isCluster: boolean
  /** By slot: the address of its master. */
  #owners: (string | undefined)[] = []
  #masters: readonly string[] = []
  readonly #listeners = new Set<() => void>()
  readonly #users = new Set<TopologyUser>()
  #reader: (() => void) | undefined

  /** `isCluster`: it is known from the start, and not found out from the first server. */
  constructor(isCluster = false) {
    this.#isCluster = isCluster
  }

  get isCluster(): boolean {
    return this.#isCluster
  }

  /** Slots were read at least once. */
  get isKnown(): boolean {
    return this.#masters.length > 0
  }

  /** One of its users lacks a node: it may be replaced by now. */
  get lacksOne(): boolean {
    return [...this.#users].some(({ lacksOne }) => lacksOne)
  }

  /** Addresses of all masters that serve slots, in an order that slots which move do not change. */
  get masters(): readonly string[] {
    return this.#masters
  }

  ownerOf(slot: number): string | undefined {
    return this.#owners[slot]
  }

  /** What was taken for a server of its own is a node. */
  becomeCluster(): void {
    if (this.#isCluster) return
    this.#isCluster = true
    this.#changed()
  }

  /** `asked`: the host whose answer it is, which stands where none is named. */
  learn(ranges: Ranges, asked: string): void {
    const owners: (string | undefined)[] = new Array(slotCount)
    const masters = new Set<string>()
    for (const [from, to, [host, port, , further]] of ranges) {
      const owner = textOf({ host: hostOf(host, further) ?? asked, port })
      masters.add(owner)
      owners.fill(owner, from, to + 1)
    }
    this.#owners = owners
    this.#masters = [...masters].sort()
    this.#changed()
  }

  /** A node said that this slot is another one's now. What else has changed the next reading tells. */
  moved(slot: number, owner: string): void {
    if (this.#owners[slot] !== owner) {
      this.#owners[slot] = owner
      if (!this.#masters.includes(owner)) this.#masters = [...this.#masters, owner].sort()
      this.#changed()
    }
    this.wantReading()
  }

  /** Something does not fit what is known. */
  wantReading(): void {
    this.#reader?.()
  }

  /** `read` is called when the slots are to be read. */
  set reader(read: (() => void) | undefined) {
    this.#reader = read
  }

  /** Calls `listener` with each change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** From now on this one's needs count, until the returned function is called. */
  join(user: TopologyUser): () => void {
    this.#users.add(user)
    return () => this.#users.delete(user)
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
