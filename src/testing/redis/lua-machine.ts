import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../wire/errors.ts'
import { prelude } from './lua-prelude.ts'
import { type LuaModule, LuaValues, parsedJson } from './lua-values.ts'
import { isError, RedisError, type Reply } from './reply.ts'

/** Where Lua keeps what lasts. */
const globals = -10_002

type RunCommand = (words: string[]) => Reply

/**
 * Runs the library of Redis Functions: the same text that a Redis is given, in Lua 5.1, which is what Redis has. What is written twice would
 * come apart one day. A text is compiled once in a process, and a function runs in a tenth of a millisecond then: the library keeps
 * nothing between two runs, so the Redises of many tests share what was compiled.
 */
export class LuaMachine {
  readonly #module: LuaModule
  readonly #runCommand: RunCommand
  #library: { name: string; compiled: Compiled } | undefined

  private constructor(module: LuaModule, runCommand: RunCommand) {
    this.#module = module
    this.#runCommand = runCommand
  }

  /** @throws ConfigError when the package with Lua is not installed */
  static async open(runCommand: RunCommand): Promise<LuaMachine> {
    return new LuaMachine(await loadModule(), runCommand)
  }

  /** What FUNCTION LOAD does. @throws RedisError */
  load(text: string, mayReplace: boolean): Reply {
    const [, name] = /^#!lua name=(\w+)\s*\n/.exec(text) ?? []
    if (name === undefined) throw new RedisError('ERR Missing library metadata')
    if (this.#library && !mayReplace) throw new RedisError(`ERR Library '${name}' already exists`)
    const compiled = compiledTexts.get(text) ?? new Compiled(this.#module, text)
    compiledTexts.set(text, compiled)
    this.#library = { name, compiled }
    return name
  }

  /** What FCALL does. @throws RedisError */
  run(name: string, keys: readonly string[], args: readonly string[]): Reply {
    if (!this.#library) throw new RedisError('ERR Function not found')
    return this.#library.compiled.run(this.#runCommand, name, keys, args)
  }

  /** The library is gone, as after FUNCTION FLUSH. */
  forget(): void {
    this.#library = undefined
  }
}

const compiledTexts = new Map<string, Compiled>()

/** A library in a state of Lua of its own. */
class Compiled {
  readonly #values: LuaValues
  /** Of the Redis whose function runs: there is one at a time, and it waits for nothing. */
  #runCommand: RunCommand | undefined

  /** @throws RedisError */
  constructor(module: LuaModule, text: string) {
    const state = module._luaL_newstate()
    module._luaL_openlibs(state)
    this.#values = new LuaValues(module, state)
    const name = this.#values.place(prelude)
    module._luaL_loadbuffer(state, name, prelude.length, name)
    const call: RunCommand = words => this.#runCommand!(words)
    for (const host of [callOf(this.#values, call), decodeOf(this.#values), encodeOf(this.#values)])
      module._lua_pushcclosure(state, module.addFunction(host, 'ii'), 0)
    if (module._lua_pcall(state, 3, 2, 0) !== 0) throw new Error(this.#values.text(-1))
    // What is on top of the stack gets its name, and goes.
    for (const given of ['load', 'run']) module._lua_setfield(state, globals, this.#values.place(`pshub_${given}`))
    const loaded = this.#call('load', 1, () => this.#values.pushText(text.slice(text.indexOf('\n'))))
    if (isError(loaded)) throw new RedisError(loaded.err)
  }

  run(runCommand: RunCommand, name: string, keys: readonly string[], args: readonly string[]): Reply {
    this.#runCommand = runCommand
    return this.#call('run', 3, () => {
      this.#values.pushText(name)
      this.#values.pushReply(keys)
      this.#values.pushReply(args)
    })
  }

  #call(name: string, count: number, push: () => void): Reply {
    const { module, state } = this.#values
    const top = module._lua_gettop(state)
    module._lua_getfield(state, globals, this.#values.place(`pshub_${name}`))
    push()
    const failed = module._lua_pcall(state, count, 1, 0)
    const reply = failed === 0 ? this.#values.reply(-1) : { err: `ERR ${this.#values.text(-1)}` }
    module._lua_settop(state, top)
    return reply
  }
}

type HostFunction = (state: number) => number

/** redis.pcall: a JavaScript error must not go through Lua's own frames. */
const callOf =
  (values: LuaValues, runCommand: RunCommand): HostFunction =>
  state => {
    const words: string[] = []
    const count = values.module._lua_gettop(state)
    for (let at = 1; at <= count; at++) {
      const word = values.word(at)
      if (word === undefined) {
        values.pushReply({ err: 'ERR Lua redis lib command arguments must be strings or integers' })
        return 1
      }
      words.push(word)
    }
    values.pushReply(answered(() => runCommand(words)))
    return 1
  }

const answered = (run: () => Reply): Reply => {
  try {
    return run()
  } catch (error) {
    if (error instanceof RedisError) return { err: error.message }
    return { err: `ERR ${(error as Error).message}` }
  }
}

/** Whether it is JSON, and what it says or what is wrong with it. */
const decodeOf =
  (values: LuaValues): HostFunction =>
  state => {
    let read: unknown
    let problem: string | undefined
    try {
      read = parsedJson(values.text(1))
    } catch (error) {
      problem = (error as Error).message
    }
    values.module._lua_pushboolean(state, problem === undefined ? 1 : 0)
    values.pushJson(problem ?? read)
    return 2
  }

const encodeOf =
  (values: LuaValues): HostFunction =>
  () => {
    values.pushText(values.json(1))
    return 1
  }

const packageName = 'wasmoon-lua5.1'
let loading: Promise<LuaModule> | undefined

/** Once for the process. */
const loadModule = (): Promise<LuaModule> => {
  loading ??= openModule()
  loading.catch(() => {
    loading = undefined
  })
  return loading
}

const openModule = async (): Promise<LuaModule> => {
  const require = createRequire(import.meta.url)
  let entry: string
  try {
    entry = require.resolve(packageName)
  } catch {
    throw new ConfigError(
      `pshub/testing runs the functions of Redis in ${packageName}: npm install --save-dev ${packageName}`,
    )
  }
  const { LuaApi } = require(entry) as { LuaApi: { initialize(file: string): Promise<{ module: LuaModule }> } }
  // Named, or it would be looked for on the network where there is a window, as test frameworks have one.
  return (await LuaApi.initialize(join(dirname(entry), 'liblua5.1.wasm'))).module
}
