import type { Keys } from './keys.ts'
import { isFull, type Redis } from './redis.ts'
import { scripts } from './scripts.ts'
import { Preset, Volley } from './volley.ts'

/** Replies nobody fetches go after this long. */
export const replyTtlMs = 60_000

/** Commands are kept encoded for as many hubs. */
const maxHubs = 1000

interface Commands {
  push: Preset
  expire: Preset
}

/** The hubs' reply lists, as a worker writes them. */
export class ReplyLists {
  readonly #keys: Keys
  readonly #commands = new Map<string, Commands>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /**
   * Puts replies on a hub's list. As two plain commands, because the script costs Redis three times as much, and twelve times
   * as much with replies of 10 kB: its Lua hashes every byte that it is given (redis/redis#9449). Both leave in one packet, so
   * there is no list without an end of life. A full Redis refuses the plain push and takes the script.
   */
  push(client: Redis, hubId: string, replies: readonly string[]): Promise<unknown> {
    const { push, expire } = this.#of(hubId)
    return new Volley(client)
      .add(push, replies)
      .add(expire)
      .answers.then(([pushed]) => {
        if (!(pushed instanceof Error)) return undefined
        if (!isFull(pushed)) throw pushed
        return scripts.reply.run(client, [this.#keys.reply(hubId)], [replyTtlMs, ...replies])
      })
  }

  #of(hubId: string): Commands {
    let commands = this.#commands.get(hubId)
    if (!commands) {
      const key = this.#keys.reply(hubId)
      commands = { push: new Preset('rpush', key), expire: new Preset('pexpire', key, replyTtlMs) }
      if (this.#commands.size >= maxHubs) this.#commands.clear()
      this.#commands.set(hubId, commands)
    }
    return commands
  }
}
