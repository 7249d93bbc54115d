import { onAbort } from '../wire/clock.ts'
import { isClusterNode, type Redis } from './client.ts'
import { Cluster } from './cluster.ts'
import { NotConnected } from './failures.ts'
import { Fence } from './fence.ts'
import { NodeConnection } from './node-connection.ts'
import { slotOf } from './slots.ts'
import { type Address, clusterOf, mappedAddress, type RedisTarget } from './target.ts'
import { Topology, textOf } from './topology.ts'
import { TopologyReader } from './topology-reader.ts'

export type { Redis }

export interface ConnectionOptions {
  target: RedisTarget
  /** Shown by CLIENT LIST. */
  name: string
  /** Silence for this long, with commands under way, condemns a connection. */
  stallMs: number
  /** `node`: which one of a Cluster. */
  onUp?: (node?: string) => void
  /** Called once per outage, with the reason, and again when Redis is there but refuses this client. */
  onDown?: (reason: Error, node?: string) => void
  /**
   * For blocking commands, beside another connection whose reading of the Cluster it follows. On a Cluster it has a connection for
   * each slot in which it waits.
   */
  beside?: Connection
}

/** Where something lives in Redis, and the way there. */
export interface Place {
  readonly isReady: boolean
  /** Why there is no connection at the moment, once an attempt failed. */
  readonly downReason: Error | undefined
  /** Resolves when there is a connection, or when the signal fires or the connection is closed: look at isReady. */
  whenReady(signal?: AbortSignal): Promise<void>
  /**
   * Sends one or more commands in one write and returns what `commands` returns. Rejects with NotConnected (nothing
   * was sent), ConnectionLost (it may have run) or Redis' own error answer.
   */
  send<T>(commands: (client: Redis) => Promise<T>): Promise<T>
}

/**
 * The way to Redis: to one server, as its sentinels name it where there are some, or to the nodes of a Cluster. That the server at its
 * address is a node of one is found out when it is there.
 */
export class Connection implements Place {
  readonly #options: ConnectionOptions
  readonly #topology: Topology
  readonly #reader: TopologyReader | undefined
  readonly #stopListening: () => void
  readonly #waiting = new Set<() => void>()
  readonly #fences = new Map<string, Fence>()
  /** To the server of the target: the only one, or whoever tells of the others. */
  #home: NodeConnection | undefined
  #cluster: Cluster | undefined
  #isOpen = false
  #isClosed = false
  /** Why nobody could tell where the nodes are. */
  #unread: Error | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    const { beside, target } = options
    this.#topology = beside ? beside.#topology : new Topology(clusterOf(target) !== undefined)
    this.#stopListening = this.#topology.onChange(() => this.#onTopology())
    this.#home = this.#makeHome()
    if (beside) return
    this.#reader = new TopologyReader({
      topology: this.#topology,
      candidates: () => this.#candidates(),
      onFailure: error => this.#onUnread(error),
    })
    this.#topology.reader = () => this.#reader!.read()
  }

  /** Starts connecting; returns at once. Does nothing when already open. */
  open(): void {
    if (this.#isOpen || this.#isClosed) return
    this.#isOpen = true
    if (this.#topology.isCluster) this.#enter()
    else this.#home?.open()
  }

  get isReady(): boolean {
    if (this.#isClosed) return false
    return this.#topology.isCluster ? this.#cluster !== undefined && this.#topology.isKnown : this.#home!.isReady
  }

  get downReason(): Error | undefined {
    if (!this.#topology.isCluster) return this.#home?.downReason
    return this.#topology.isKnown ? this.#cluster?.downReason : (this.#home?.downReason ?? this.#unread)
  }

  async whenReady(signal?: AbortSignal): Promise<void> {
    while (!this.isReady && !this.#isClosed && !signal?.aborted) {
      await new Promise<void>(resolve => {
        // Taken off again: the signals of hubs and workers live as long as they do, through any number of outages.
        const done = () => {
          signal?.removeEventListener('abort', done)
          this.#waiting.delete(done)
          resolve()
        }
        this.#waiting.add(done)
        if (signal) onAbort(signal, done)
      })
    }
  }

  send<T>(commands: (client: Redis) => Promise<T>): Promise<T> {
    if (!this.#topology.isCluster) return this.#home!.send(commands)
    if (!this.isReady) return Promise.reject(new NotConnected(this.downReason?.message ?? 'not connected to Redis yet'))
    return commands(this.#cluster!)
  }

  /** The way to where a key lives: of a Cluster the one node, whatever the others do. */
  at(key: string): Place {
    const slot = slotOf(key)
    const connection = this
    const isThere = () => connection.#cluster?.nodeOf(slot)?.isReady === true
    return {
      get isReady() {
        return connection.isReady && (!connection.#cluster || isThere())
      },
      get downReason() {
        return (connection.#cluster?.nodeOf(slot) ?? connection).downReason
      },
      async whenReady(signal) {
        await connection.whenReady(signal)
        if (connection.#cluster && connection.isReady && !isThere())
          await connection.#cluster.ready(slot, Number.POSITIVE_INFINITY, signal)
      },
      send(commands) {
        if (!connection.#cluster || isThere()) return connection.send(commands)
        return Promise.reject(new NotConnected(this.downReason?.message ?? 'not connected to its node yet'))
      },
    }
  }

  /** Nothing waits there any more: a connection that is for that alone ends. */
  leave(key: string): void {
    this.#cluster?.leave(slotOf(key))
  }

  /** An answer of where a key lives is under way, and a part of it came a moment ago. */
  isReceiving(key: string): boolean {
    return (this.#cluster ? this.#cluster.nodeOf(slotOf(key)) : this.#home)?.isReceiving ?? false
  }

  /** The node that serves a key; undefined when there is but one server, or none is known yet. */
  addressOf(key: string): string | undefined {
    return this.#topology.ownerOf(slotOf(key))
  }

  /** It leads to the nodes of a Cluster. */
  get isCluster(): boolean {
    return this.#topology.isCluster
  }

  /** Closes for good. Commands under way are rejected, waiters are released. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopListening()
    const closed = [this.#reader?.close(), this.#cluster?.close(), this.#home?.close()]
    this.#release()
    await Promise.all(closed)
  }

  #makeHome(): NodeConnection {
    const { target, name, stallMs, onUp, onDown } = this.#options
    return new NodeConnection({
      target,
      fence: this.#fenceOf('home'),
      name,
      stallMs,
      onMoved: () => this.#topology.becomeCluster(),
      onUp: client => {
        if (isClusterNode(client)) this.#topology.becomeCluster()
        if (this.#topology.isCluster) {
          this.#topology.wantReading()
          return
        }
        onUp?.()
        this.#release()
      },
      onDown: reason => {
        if (!this.#topology.isKnown) onDown?.(reason)
      },
    })
  }

  #onTopology(): void {
    if (this.#topology.isCluster && this.#isOpen && !this.#isClosed) this.#enter()
    // Connections to the nodes take its place.
    if (this.#topology.isKnown) this.#dropHome()
    this.#release()
  }

  #enter(): void {
    if (this.#cluster) return
    const { target, name, stallMs, onUp, onDown, beside } = this.#options
    this.#cluster = new Cluster({
      topology: this.#topology,
      perSlot: beside !== undefined,
      makeNode: (address: Address, connection, onChange) =>
        new NodeConnection({
          target,
          fence: this.#fenceOf(connection),
          address: mappedAddress(target, address),
          name,
          stallMs,
          onUp: () => {
            onUp?.(textOf(address))
            onChange()
          },
          onDown: reason => {
            onDown?.(reason, textOf(address))
            onChange()
          },
        }),
    })
    if (beside) this.#dropHome()
    this.#topology.wantReading()
  }

  /** It outlives a connection: the next one of the same name follows that, and no other, which may be to the same node for another slot. */
  #fenceOf(name: string): Fence {
    const fence = this.#fences.get(name) ?? new Fence()
    this.#fences.set(name, fence)
    return fence
  }

  #dropHome(): void {
    const home = this.#home
    this.#home = undefined
    void home?.close()
  }

  /** Where none of the nodes that are used can be asked the others are, and the target: at first, and when all that were known are gone. */
  #candidates(): NodeConnection[] {
    const nodes = this.#cluster?.readyNodes ?? []
    if (nodes.length > 0) return nodes
    this.#cluster?.useAll()
    this.#home ??= this.#makeHome()
    this.#home.open()
    return this.#home.isReady ? [this.#home] : []
  }

  #onUnread(error: Error): void {
    this.#unread = error
    if (!this.#topology.isKnown) this.#options.onDown?.(error)
  }

  #release(): void {
    for (const done of [...this.#waiting]) done()
  }
}
