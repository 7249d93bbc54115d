import { wallMs } from '../../wire/clock.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import { runCommand } from './commands.ts'
import { integerOf } from './commands-of-keys.ts'
import { moveOne } from './commands-of-lists.ts'
import { type Handle, ServedConnection, type ServerSide, type Wait } from './connection.ts'
import { Keyspace } from './keyspace.ts'
import { LuaMachine } from './lua-machine.ts'
import { isError, ok, RedisError, type Reply } from './reply.ts'
import { scoreOf } from './sorted-set.ts'

/** What a function was run with, and what it answered. */
export interface Ran {
  name: string
  keys: readonly string[]
  args: readonly string[]
  reply: Reply
}

const info = [
  'redis_version:7.2.0',
  'redis_mode:standalone',
  'role:master',
  'loading:0',
  'aof_enabled:1',
  'maxmemory:0',
  'maxmemory_policy:noeviction',
  'used_memory:0',
  '',
].join('\r\n')

/**
 * A Redis in this process: the commands that pshub sends, its library of functions in real Lua, waits and ends of keys by the clock of
 * pshub/testing. Nothing is written to disk, nobody else can connect.
 */
export class MemoryRedis {
  readonly keys = new Keyspace(wallMs)
  readonly #machine: LuaMachine
  readonly #connections = new Map<number, ServedConnection>()
  readonly #waits = new Set<Wait>()
  readonly #onRan: (ran: Ran) => void
  #lastId = 0
  #isAway = false
  /** Grows with each command: whether something is going on. */
  #commandCount = 0
  #scheduled = 0

  private constructor(makeMachine: LuaMachine, onRan: (ran: Ran) => void) {
    this.#machine = makeMachine
    this.#onRan = onRan
  }

  /** `onRan` is told of each function. @throws ConfigError when the package with Lua is not installed */
  static async open(onRan: (ran: Ran) => void): Promise<MemoryRedis> {
    let redis: MemoryRedis | undefined
    const machine = await LuaMachine.open(words => runCommand(redis!.keys, words))
    redis = new MemoryRedis(machine, onRan)
    return redis
  }

  /** How many commands it has run, and whether some are to be run in this turn. */
  get activity(): { commands: number; isBusy: boolean } {
    return { commands: this.#commandCount, isBusy: this.#scheduled > 0 }
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** A new connection. @throws Error ECONNREFUSED while it is away */
  connect(): ServedConnection {
    if (this.#isAway) throw Object.assign(new Error('connect ECONNREFUSED memory'), { code: 'ECONNREFUSED' })
    const side: ServerSide = {
      handle: (words, connection) => this.#handle(words, connection),
      schedule: run => {
        this.#scheduled++
        setImmediate(() => {
          this.#scheduled--
          run()
        })
      },
      park: (wait, ms) => this.#park(wait, ms),
      left: ({ id }) => this.#connections.delete(id),
    }
    const connection = new ServedConnection(++this.#lastId, side)
    this.#connections.set(connection.id, connection)
    return connection
  }

  /** All connections break, and new ones are refused, until it comes back with all its keys. */
  goAway(): void {
    this.#isAway = true
    for (const connection of [...this.#connections.values()])
      connection.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
  }

  comeBack(): void {
    this.#isAway = false
  }

  /** Runs one command from outside of any connection, as redis-cli would. @throws RedisError */
  command(...words: string[]): Reply {
    const reply = this.#now(words)
    if (isError(reply)) throw new RedisError(reply.err)
    return reply
  }

  #handle(words: string[], connection: ServedConnection): ReturnType<Handle> {
    this.#commandCount++
    const name = words[0]!.toLowerCase()
    if (name === 'client') return this.#client(words, connection)
    const wait = this.#waitOf(name, words.slice(1))
    const reply = wait ? (wait.wait() ?? wait) : this.#now(words)
    this.#wake()
    return reply
  }

  /** What waits for a list, its time in seconds at its end. */
  #waitOf(name: string, words: string[]): { wait(): Reply | undefined; ms: number } | undefined {
    if (name !== 'blpop' && name !== 'blmove') return undefined
    const seconds = scoreOf(words.at(-1) ?? '', 'ERR timeout is not a float or out of range')
    const lists = words.slice(0, -1)
    const wait =
      name === 'blmove'
        ? () => moveOne(this.keys, lists) ?? undefined
        : () => {
            const list = lists.find(key => this.keys.kindOf(key) !== 'none')
            return list === undefined ? undefined : [list, runCommand(this.keys, ['lpop', list])]
          }
    return { wait, ms: seconds * 1000 }
  }

  #now(words: string[]): Reply {
    const [name, ...rest] = [words[0]!.toLowerCase(), ...words.slice(1)]
    if (name === 'fcall') return this.#runFunction(rest)
    if (name === 'function') return this.#function(rest)
    if (name === 'info') return info
    if (name === 'ping') return { ok: 'PONG' }
    // There are none, and none are waited for.
    if (name === 'wait') return 0
    if (name === 'cluster') throw new RedisError('ERR This instance has cluster support disabled')
    return runCommand(this.keys, words)
  }

  #runFunction([name = '', count, ...rest]: string[]): Reply {
    const keyCount = integerOf(count)
    const [keys, args] = [rest.slice(0, keyCount), rest.slice(keyCount)]
    const reply = this.#machine.run(name, keys, args)
    this.#onRan({ name, keys, args, reply })
    return reply
  }

  #function(words: string[]): Reply {
    const verb = words[0]?.toLowerCase()
    if (verb === 'flush') {
      this.#machine.forget()
      return ok
    }
    if (verb !== 'load') throw new RedisError(`ERR unknown subcommand '${words[0]}'`)
    return this.#machine.load(
      words.at(-1)!,
      words.some(word => word.toUpperCase() === 'REPLACE'),
    )
  }

  #client([, verb, id]: string[], connection: ServedConnection): Reply {
    if (verb?.toLowerCase() === 'id') return connection.id
    if (verb?.toLowerCase() === 'unblock') return this.#connections.get(integerOf(id))?.unblock() ? 1 : 0
    return ok
  }

  /** 0 milliseconds: for as long as it takes. */
  #park(wait: Wait, ms: number): void {
    const end = wait.end
    const timer = ms > 0 ? setTimeout(() => wait.end(null), ms) : undefined
    wait.end = reply => {
      clearTimeout(timer)
      this.#waits.delete(wait)
      end(reply)
    }
    this.#waits.add(wait)
  }

  /** Something was written: who has waited for the longest comes first. */
  #wake(): void {
    for (const wait of [...this.#waits]) {
      const reply = attempted(wait)
      if (reply !== undefined) wait.end(reply)
    }
  }
}

const attempted = (wait: Wait): Reply | undefined => {
  try {
    return wait.attempt()
  } catch (error) {
    return { err: (error as Error).message }
  }
}
