import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'

/** A Lua script of src/queue/lua, sent by its digest and once in full to a server that does not know it yet. */
export class Script {
  readonly text: string
  readonly digest: string
  /** In full once per connection: nothing that is pipelined behind a script may run ahead of its second try. */
  readonly #known = new WeakSet<Redis>()

  constructor(name: string) {
    this.text = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
    this.digest = createHash('sha1').update(this.text).digest('hex')
  }

  run(client: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const inFull = () => command(client, 'eval', this.text, keys.length, ...keys, ...args)
    if (!this.#known.has(client)) {
      this.#known.add(client)
      return inFull()
    }
    return command(client, 'evalsha', this.digest, keys.length, ...keys, ...args).catch(error => {
      // A NOSCRIPT answer means that nothing was run, so sending it again in full is safe.
      if (!error.message.startsWith('NOSCRIPT')) throw error
      return inFull()
    })
  }
}

const names = ['push', 'claim', 'reply', 'beat', 'handback', 'leave', 'adopt', 'cancel', 'declare'] as const

/** Every script, read once per process. A worker in another language loads the same files. */
export const scripts = Object.fromEntries(names.map(name => [name, new Script(name)])) as Readonly<
  Record<(typeof names)[number], Script>
>
