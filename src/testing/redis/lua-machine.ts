import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../wire/errors.ts'

/** Lua's own functions, as its WebAssembly exports them, and its memory. */
interface LuaModule {
  readonly HEAPU8: Uint8Array
  readonly HEAPU32: Uint32Array
  _malloc(bytes: number): number
  _free(at: number): void
  _luaL_newstate(): number
  _luaL_openlibs(state: number): void
  _luaL_loadbuffer(state: number, text: number, bytes: number, name: number): number
  _lua_close(state: number): void
  _lua_checkstack(state: number, more: number): number
  _lua_gettop(state: number): number
  _lua_settop(state: number, at: number): void
  _lua_pcall(state: number, given: number, returned: number, handler: number): number
  _lua_pushlstring(state: number, text: number, bytes: number): void
  _lua_pushvalue(state: number, at: number): void
  _lua_tolstring(state: number, at: number, bytes: number): number
}

/** What lua_pcall takes for as many results as there are. */
const allResults = -1
const firstBytes = 65_536

/** A state of Lua 5.1, which is what Redis has. It runs one function: texts go in, and texts come out, with a character for each byte. */
export class LuaMachine {
  readonly #module: LuaModule
  readonly #state: number
  /** Where a text stands on its way in, and its length on the way out. */
  #buffer: { at: number; bytes: number }
  readonly #length: number

  private constructor(module: LuaModule, text: string) {
    this.#module = module
    this.#state = module._luaL_newstate()
    this.#buffer = { at: module._malloc(firstBytes), bytes: firstBytes }
    this.#length = module._malloc(4)
    module._luaL_openlibs(this.#state)
    const at = this.#place(Buffer.from(text).toString('latin1'))
    if (module._luaL_loadbuffer(this.#state, at, Buffer.byteLength(text), at) !== 0) throw this.#failure()
    if (module._lua_pcall(this.#state, 0, 1, 0) !== 0) throw this.#failure()
  }

  /**
   * @param text a program that returns the function
   * @throws ConfigError when the package with Lua is not installed
   */
  static async open(text: string): Promise<LuaMachine> {
    return new LuaMachine(await loadModule(), text)
  }

  call(...words: string[]): string[] {
    const [module, state] = [this.#module, this.#state]
    module._lua_checkstack(state, words.length + 1)
    module._lua_pushvalue(state, 1)
    for (const word of words) module._lua_pushlstring(state, this.#place(word), word.length)
    if (module._lua_pcall(state, words.length, allResults, 0) !== 0) throw this.#failure()
    const results: string[] = []
    for (let at = 2; at <= module._lua_gettop(state); at++) results.push(this.#text(at))
    module._lua_settop(state, 1)
    return results
  }

  /** Gives its memory back. Nothing may be called after it. */
  close(): void {
    this.#module._lua_close(this.#state)
    this.#module._free(this.#buffer.at)
    this.#module._free(this.#length)
  }

  #place(text: string): number {
    const module = this.#module
    if (text.length >= this.#buffer.bytes) {
      module._free(this.#buffer.at)
      const bytes = text.length * 2
      this.#buffer = { at: module._malloc(bytes), bytes }
    }
    const { at } = this.#buffer
    Buffer.from(module.HEAPU8.buffer).write(text, at, 'latin1')
    module.HEAPU8[at + text.length] = 0
    return at
  }

  #text(at: number): string {
    const module = this.#module
    const place = module._lua_tolstring(this.#state, at, this.#length)
    return Buffer.from(module.HEAPU8.buffer).toString('latin1', place, place + module.HEAPU32[this.#length >> 2]!)
  }

  #failure(): Error {
    const error = new Error(this.#text(-1))
    this.#module._lua_settop(this.#state, 1)
    return error
  }
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
