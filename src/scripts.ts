import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { command } from './client.ts'
import { isNoScript, type Redis } from './redis.ts'

/** A Lua script of src/lua, sent by its digest and once in full to a server that does not know it yet. */
export interface Script {
  readonly name: string
  readonly text: string
  run(client: Redis, keys: string[], args: (string | number)[]): Promise<unknown>
}

const load = (name: string): Script => {
  const text = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
  const known = new WeakSet<Redis>()
  const digest = createHash('sha1').update(text).digest('hex')
  return {
    name,
    text,
    async run(client, keys, args) {
      // In full once per connection: nothing that is pipelined behind a script may run ahead of its second try.
      if (!known.has(client)) {
        known.add(client)
        return client.eval(text, keys.length, ...keys, ...args)
      }
      try {
        return await command(client, 'evalsha', digest, keys.length, ...keys, ...args)
      } catch (error) {
        // A NOSCRIPT answer means that nothing was run, so sending it again in full is safe.
        if (!isNoScript(error)) throw error
        return client.eval(text, keys.length, ...keys, ...args)
      }
    },
  }
}

/** Every script, read once per process. A worker in another language loads the same files. */
export const scripts = {
  push: load('push'),
  claim: load('claim'),
  reply: load('reply'),
  beat: load('beat'),
  handback: load('handback'),
  leave: load('leave'),
  adopt: load('adopt'),
  cancel: load('cancel'),
} as const
