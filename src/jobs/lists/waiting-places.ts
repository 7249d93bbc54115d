import type { Catalogue } from '../../catalogue/catalogue.ts'
import type { Redis } from '../../redis/connection.ts'
import { stringifyExact } from '../../wire/json/exact-json.ts'
import type { QueueKeys } from '../../wire/keys.ts'
import { readAnyPayload } from '../../wire/payload.ts'

/** A list in which jobs wait to be taken; of a key what is merged, too. */
interface WaitingPlace {
  list: string
  of?: TaskKey
}

interface TaskKey {
  task: string
  key: string
}

/** Read at a time. */
const page = 20
/** So many payloads of a key are looked at. */
const mostPayloads = 20

/** Where jobs of a queue wait to be taken: in its lists, in the lines of its keys, and merged. */
export class WaitingPlaces {
  readonly #client: Redis
  readonly #catalogue: Catalogue
  readonly #keys: QueueKeys

  constructor(client: Redis, catalogue: Catalogue, keys: QueueKeys) {
    this.#client = client
    this.#catalogue = catalogue
    this.#keys = keys
  }

  async *all(): AsyncGenerator<WaitingPlace> {
    const { jobsHigh, jobs, jobsLow, keyed, keysOf, later, running } = this.#keys
    yield { list: jobsHigh }
    yield { list: jobs }
    for (const task of (await this.#ask('zrange', keyed, 0, -1)) ?? []) {
      for (const key of (await this.#ask('hkeys', running(task))) ?? []) yield this.#placeOf(task, key)
      for await (const key of this.#members(keysOf(task))) yield this.#placeOf(task, key)
    }
    for await (const member of this.#members(later)) {
      const at = member.indexOf(' ')
      yield this.#placeOf(member.slice(0, at), member.slice(at + 1))
    }
    yield { list: jobsLow }
  }

  /** What waits merged of a key, as one job that has its first payloads as arguments; undefined when nothing does. */
  async merged({ task, key }: TaskKey): Promise<{ text: string; set: string; payloads: number } | undefined> {
    const set = this.#keys.merged(task, key)
    const payloads = await this.#catalogue.askIfAllowed(this.#client, 0, 'zcard', set)
    if (!payloads) return undefined
    const first = await this.#catalogue.ask<string[]>(this.#client, [], 'zrange', set, 0, mostPayloads - 1)
    const text = stringifyExact({ at: 0, ttl: 0, id: '-', job: { key }, task, args: first.map(readAnyPayload) })
    return { text, set, payloads }
  }

  #placeOf(task: string, key: string): WaitingPlace {
    return { list: this.#keys.line(task, key), of: { task, key } }
  }

  #ask(name: string, key: string, ...range: number[]): Promise<string[] | undefined> {
    return this.#catalogue.askIfAllowed<string[]>(this.#client, [], name, key, ...range)
  }

  async *#members(set: string): AsyncGenerator<string> {
    for (let at = 0; ; at += page) {
      const found = (await this.#ask('zrange', set, at, at + page - 1)) ?? []
      yield* found
      if (found.length < page) return
    }
  }
}
