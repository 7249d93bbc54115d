import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isNoScript, type Redis } from './redis.ts'
import { Preset } from './volley.ts'

/** A Lua script of src/lua, sent by its digest and once in full to a server that does not know it yet. */
export class Script {
  readonly name: string
  readonly text: string
  readonly digest: string
  readonly #known = new WeakSet<Redis>()

  constructor(name: string) {
    this.name = name
    this.text = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
    this.digest = createHash('sha1').update(this.text).digest('hex')
  }

  run(client: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new KeyedScript(this, keys).run(client, args, answer => answer)
  }

  /** In full once per connection: nothing that is pipelined behind a script may run ahead of its second try. */
  isNewTo(client: Redis): boolean {
    if (this.#known.has(client)) return false
    this.#known.add(client)
    return true
  }
}

/** A script with the keys that it is run on again and again. */
export class KeyedScript {
  readonly script: Script
  readonly keys: readonly string[]
  readonly #preset: Preset

  constructor(script: Script, keys: readonly string[]) {
    this.script = script
    this.keys = keys
    this.#preset = new Preset('evalsha', script.digest, keys.length, ...keys)
  }

  /** `read` makes of the answer what this resolves with. */
  run<T>(client: Redis, args: readonly (string | number)[], read: (answer: unknown) => T): Promise<T> {
    const inFull = () => client.eval(this.script.text, this.keys.length, ...this.keys, ...args).then(read)
    if (this.script.isNewTo(client)) return inFull()
    return this.#preset.send(client, args).then(read, error => {
      // A NOSCRIPT answer means that nothing was run, so sending it again in full is safe.
      if (!isNoScript(error)) throw error
      return inFull()
    })
  }
}

/** Every script, read once per process. A worker in another language loads the same files. */
export const scripts = {
  push: new Script('push'),
  claim: new Script('claim'),
  reply: new Script('reply'),
  beat: new Script('beat'),
  hold: new Script('hold'),
  handback: new Script('handback'),
  leave: new Script('leave'),
  adopt: new Script('adopt'),
  cancel: new Script('cancel'),
  declare: new Script('declare'),
} as const
