import { monotonicMs, onAbort } from '../wire/clock.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import { command, type ManyNodes, type NodeClient, type Redis, type Sendable } from './client.ts'
import { NotConnected } from './failures.ts'
import type { NodeConnection } from './node-connection.ts'
import { keyOf, slotOf, withAbsent } from './slots.ts'
import type { Address } from './target.ts'
import { addressOf, type Topology } from './topology.ts'

type Words = readonly (string | number)[]

export interface ClusterOptions {
  topology: Topology
  /** `name`: of the connection among all of them. `onChange` is to be called when it is there, and when it is gone. */
  makeNode(address: Address, name: string, onChange: () => void): NodeConnection
  /**
   * A connection for each slot that is used, and not for each node: Redis refuses to wait for keys of different slots at once, and
   * one behind the other would wait for each other's.
   */
  perSlot: boolean
}

/**
 * For so long a command waits for a node that is away, or not known: then the layers above need no pause of their own. Nothing is said
 * of one to which the first connection is still being made.
 */
const patienceMs = 1000
/** A connection to a node that serves nothing any more, as one reading says, ends so much later: the next one may know better. */
const lingerMs = 1000
/** So often in a row a command is sent elsewhere. */
const maxHops = 5

/**
 * The nodes of a Cluster, each over connections of its own, opened when they are first used. Each command goes to the master of its
 * key's slot: where it is not run because the slot has another one, it is sent there; nothing that may have been run is sent again.
 */
export class Cluster implements ManyNodes {
  readonly #options: ClusterOptions
  readonly #nodes = new Map<string, NodeConnection>()
  /** By the connection and the slot that they are about. */
  readonly #near = new WeakMap<NodeClient, Map<number, Redis>>()
  readonly #waiting = new Set<() => void>()
  /** Connections that will end, unless they are needed again before. */
  readonly #leaving = new Map<string, NodeJS.Timeout>()
  readonly #stopListening: () => void
  readonly #leave: () => void
  /** How many wait for a slot that nobody is known to serve. */
  #unserved = 0
  #isClosed = false

  constructor(options: ClusterOptions) {
    this.#options = options
    this.#stopListening = options.topology.onChange(() => this.#onTopology())
    this.#leave = options.topology.join(this)
  }

  /** Of those that are used. */
  get readyNodes(): NodeConnection[] {
    return [...this.#nodes.values()].filter(({ isReady }) => isReady)
  }

  /** A node that is used is away, or nobody serves a slot that is waited for. */
  get lacksOne(): boolean {
    return this.#unserved > 0 || [...this.#nodes.values()].some(({ downReason }) => downReason !== undefined)
  }

  get downReason(): Error | undefined {
    return [...this.#nodes.values()].find(({ downReason }) => downReason !== undefined)?.downReason
  }

  /** The connection to the master of a slot; undefined when nobody is known to serve it. */
  nodeOf(slot: number): NodeConnection | undefined {
    const owner = this.#options.topology.ownerOf(slot)
    return owner === undefined ? undefined : this.#node(owner, slot)
  }

  /** Resolves with the connection to a slot's master when that is ready, or undefined after `ms`, or when this is closed or the signal fires. */
  async ready(slot: number, ms: number, signal?: AbortSignal): Promise<NodeConnection | undefined> {
    const until = monotonicMs() + ms
    while (!this.#isClosed && !signal?.aborted) {
      const node = this.nodeOf(slot)
      if (node?.isReady) return node
      const leftMs = isOnItsWay(node) ? Number.POSITIVE_INFINITY : until - monotonicMs()
      if (leftMs <= 0) return undefined
      if (node) await this.#change(leftMs, signal)
      else await this.#unservedFor(leftMs, signal)
    }
    return undefined
  }

  /** Ends what is connected for one slot alone. */
  leave(slot: number): void {
    for (const name of this.#nodes.keys()) if (name.startsWith(`${slot} `)) this.#end(name)
  }

  /** Connects to all that are known. */
  useAll(): void {
    for (const master of this.#options.topology.masters) this.#node(master)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopListening()
    this.#leave()
    for (const timer of this.#leaving.values()) clearTimeout(timer)
    const closed = [...this.#nodes.values()].map(node => node.close())
    this.#release()
    await Promise.all(closed)
  }

  near(key: string): Redis {
    const slot = slotOf(key)
    const client = this.nodeOf(slot)?.client
    const sendCommand = ({ name, args }: Sendable) => this.#send(slot, name, args)
    if (!client) return { sendCommand }
    // The same one for as long as that connection lasts, because what is known of a connection is kept with it.
    const ofClient = this.#near.get(client) ?? new Map<number, Redis>()
    this.#near.set(client, ofClient)
    const bound = ofClient.get(slot) ?? { sendCommand, options: client.options }
    ofClient.set(slot, bound)
    return bound
  }

  all(): Redis[] {
    return this.#options.topology.masters.map(master => ({
      sendCommand: ({ name, args }: Sendable) => this.#sendTo(() => this.#node(master), name, args),
      options: this.options,
      node: master,
    }))
  }

  addressOf(key: string): string | undefined {
    return this.#options.topology.ownerOf(slotOf(key))
  }

  get options(): { username?: string | null | undefined } {
    return this.readyNodes[0]?.client?.options ?? {}
  }

  sendCommand({ name, args }: Sendable): Promise<unknown> {
    const key = keyOf(name, args)
    if (key === undefined) return this.#sendTo(() => this.#any(), name, args)
    return this.#send(slotOf(key), name, isFunction(name) ? withAbsent(key, args) : args)
  }

  /** Whoever is there: the first one may be away. */
  #any(): NodeConnection | undefined {
    if (this.readyNodes.length === 0) this.useAll()
    return this.readyNodes[0] ?? this.#nodes.values().next().value
  }

  /** Undefined once this is closed: what is sent then must not open anything. */
  #node(address: string, slot?: number): NodeConnection | undefined {
    if (this.#isClosed) return undefined
    const name = this.#options.perSlot && slot !== undefined ? `${slot} ${address}` : address
    let node = this.#nodes.get(name)
    if (!node) {
      node = this.#options.makeNode(addressOf(address), name, () => this.#onNode())
      this.#nodes.set(name, node)
      node.open()
    }
    return node
  }

  /** What was sent in one tick in some order arrives in it: nothing is awaited before the first write. */
  async #send(slot: number, name: string, args: Words): Promise<unknown> {
    const { topology } = this.#options
    for (let hop = 0; ; hop++) {
      const known = this.nodeOf(slot)
      const node = known?.isReady ? known : await this.ready(slot, patienceMs)
      if (!node) throw this.#away(slot)
      try {
        return await node.send(client => command(client, name, ...args))
      } catch (error) {
        const [, word, address = ''] = /^(MOVED|ASK) \d+ (\S+)/.exec((error as Error).message) ?? []
        // By who is cut off from the others, or for a moment by all.
        if ((error as Error).message.startsWith('CLUSTERDOWN')) topology.wantReading()
        if (!word || hop >= maxHops) throw error
        // A node that does not know its own name means its port.
        const target = address.startsWith(':') ? `${node.host}${address}` : address
        if (word === 'MOVED') topology.moved(slot, target)
        else if (isFunction(name)) throw isMoving()
        else return this.#ask(target, slot, name, args)
      }
    }
  }

  /** For this time only: the slot is on its way there, and this key is there already. */
  #ask(address: string, slot: number, name: string, args: Words): Promise<unknown> {
    return this.#sendTo(
      () => this.#node(address, slot),
      name,
      args,
      client => command(client, 'asking'),
    )
  }

  async #sendTo(
    find: () => NodeConnection | undefined,
    name: string,
    args: Words,
    before?: (client: Redis) => Promise<unknown>,
  ): Promise<unknown> {
    const until = monotonicMs() + patienceMs
    let node = find()
    for (; !node?.isReady; node = find()) {
      const leftMs = isOnItsWay(node) ? Number.POSITIVE_INFINITY : until - monotonicMs()
      if (leftMs <= 0 || this.#isClosed) throw new NotConnected(node?.downReason?.message ?? 'no node is known')
      await this.#change(leftMs)
    }
    return node.send(client => {
      // Where it is refused, so is what follows it.
      before?.(client).catch(() => undefined)
      return command(client, name, ...args)
    })
  }

  #away(slot: number): NotConnected {
    if (this.#isClosed) return new NotConnected('the connection was closed')
    const node = this.nodeOf(slot)
    if (!node) return new NotConnected('no node of the Cluster is known to serve this')
    return new NotConnected(node.downReason?.message ?? 'not connected to its node yet')
  }

  /** Waits for a change while it is looked who serves a slot now. */
  async #unservedFor(ms: number, signal?: AbortSignal): Promise<void> {
    this.#unserved++
    this.#options.topology.wantReading()
    await this.#change(ms, signal).finally(() => this.#unserved--)
  }

  /** Resolves with the next change of any kind, at the latest after `ms`, which may be infinite. */
  #change(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(done, ms)
      if (signal) onAbort(signal, done)
      this.#waiting.add(done)
    })
  }

  #onNode(): void {
    if (this.lacksOne) this.#options.topology.wantReading()
    this.#release()
  }

  /** Connections to who is a master no more, or not of that slot, end; what is under way there may have run. */
  #onTopology(): void {
    const { topology, perSlot } = this.#options
    for (const [name, node] of this.#nodes) {
      const [slot, address] = perSlot && name.includes(' ') ? name.split(' ') : [undefined, name]
      const isNeeded =
        slot === undefined ? topology.masters.includes(address!) : topology.ownerOf(Number(slot)) === address
      if (isNeeded || !topology.isKnown) this.#keep(name)
      // What waits there is told nothing by who says nothing, and loses nothing.
      else if (perSlot || !node.isReady) this.#end(name)
      else if (!this.#leaving.has(name))
        this.#leaving.set(
          name,
          setTimeout(() => this.#end(name), lingerMs),
        )
    }
    this.#release()
  }

  #keep(name: string): void {
    clearTimeout(this.#leaving.get(name))
    this.#leaving.delete(name)
  }

  #end(name: string): void {
    this.#keep(name)
    const node = this.#nodes.get(name)
    this.#nodes.delete(name)
    void node?.close()
    this.#release()
  }

  #release(): void {
    for (const done of [...this.#waiting]) done()
  }
}

/** Nothing is known of it yet, and soon will be: a connection is being made, for the first time or anew. */
const isOnItsWay = (node: NodeConnection | undefined): boolean =>
  node !== undefined && !node.isReady && node.downReason === undefined

const isFunction = (name: string): boolean => name.toLowerCase() === 'fcall'

/** As Redis says it when a slot is on its way and some of the keys are there already. The function is run when all are. */
const isMoving = (): Error =>
  Object.assign(new Error('TRYAGAIN The slot is moving to another node'), { name: 'ReplyError' })
