import type { Reply } from './reply.ts'
import { bytesOf, textOf } from './reply.ts'

/** Lua's own functions, as its WebAssembly exports them, and its memory. */
export interface LuaModule {
  readonly HEAPU8: Uint8Array
  readonly HEAPU32: Uint32Array
  _malloc(bytes: number): number
  addFunction(run: (state: number) => number, signature: string): number
  _luaL_newstate(): number
  _luaL_openlibs(state: number): void
  _luaL_loadbuffer(state: number, text: number, bytes: number, name: number): number
  _lua_createtable(state: number, places: number, fields: number): void
  _lua_getfield(state: number, at: number, name: number): void
  _lua_gettop(state: number): number
  _lua_setfield(state: number, at: number, name: number): void
  _lua_settop(state: number, at: number): void
  _lua_next(state: number, at: number): number
  _lua_pcall(state: number, given: number, returned: number, handler: number): number
  _lua_pushboolean(state: number, value: number): void
  _lua_pushcclosure(state: number, run: number, upvalues: number): void
  _lua_pushlightuserdata(state: number, pointer: number): void
  _lua_pushlstring(state: number, text: number, bytes: number): void
  _lua_pushnumber(state: number, value: number): void
  _lua_rawget(state: number, at: number): void
  _lua_rawgeti(state: number, at: number, place: number): void
  _lua_rawset(state: number, at: number): void
  _lua_rawseti(state: number, at: number, place: number): void
  _lua_toboolean(state: number, at: number): number
  _lua_tolstring(state: number, at: number, bytes: number): number
  _lua_tonumber(state: number, at: number): number
  _lua_type(state: number, at: number): number
}

const types = { nil: 0, boolean: 1, lightUserdata: 2, number: 3, string: 4, table: 5 }

/** Values on their way in and out of one state of Lua. Texts have a character for each byte. */
export class LuaValues {
  readonly module: LuaModule
  readonly state: number
  /** Where texts stand on their way in, and their lengths on their way out. */
  #buffer = { at: 0, bytes: 0 }
  readonly #length: number

  constructor(module: LuaModule, state: number) {
    this.module = module
    this.state = state
    this.#length = module._malloc(4)
  }

  /** Where a text lies in Lua's memory, until the next one. */
  place(text: string): number {
    const { module } = this
    if (text.length >= this.#buffer.bytes) {
      const bytes = Math.max(4096, text.length * 2)
      this.#buffer = { at: module._malloc(bytes), bytes }
    }
    const { at } = this.#buffer
    Buffer.from(module.HEAPU8.buffer).write(text, at, 'latin1')
    module.HEAPU8[at + text.length] = 0
    return at
  }

  pushText(text: string): void {
    this.module._lua_pushlstring(this.state, this.place(text), text.length)
  }

  /** As Redis hands answers to Lua: nothing is false, a status and an error are tables. */
  pushReply(reply: Reply): void {
    const { module, state } = this
    if (reply === null) module._lua_pushboolean(state, 0)
    else if (typeof reply === 'number') module._lua_pushnumber(state, reply)
    else if (typeof reply === 'string') this.pushText(reply)
    else if ('ok' in reply) this.#pushFields({ ok: reply.ok }, text => this.pushText(text))
    else if ('err' in reply) this.#pushFields({ err: reply.err }, text => this.pushText(text))
    else this.#pushList(reply, each => this.pushReply(each))
  }

  /** As cjson decodes: nothing is a pointer to nowhere. */
  pushJson(value: unknown): void {
    const { module, state } = this
    if (value === null) module._lua_pushlightuserdata(state, 0)
    else if (typeof value === 'boolean') module._lua_pushboolean(state, value ? 1 : 0)
    else if (typeof value === 'number') module._lua_pushnumber(state, value)
    else if (typeof value === 'string') this.pushText(bytesOf(value))
    else if (Array.isArray(value)) this.#pushList(value, each => this.pushJson(each))
    else this.#pushFields(value as Record<string, unknown>, each => this.pushJson(each))
  }

  text(at: number): string {
    const { module } = this
    const place = module._lua_tolstring(this.state, at, this.#length)
    const bytes = module.HEAPU32[this.#length >> 2]!
    return Buffer.from(module.HEAPU8.buffer).toString('latin1', place, place + bytes)
  }

  /** A word of a command: a text, or a number as Redis writes it; undefined for anything else. */
  word(at: number): string | undefined {
    const type = this.module._lua_type(this.state, at)
    if (type === types.string) return this.text(at)
    return type === types.number ? String(this.module._lua_tonumber(this.state, at)) : undefined
  }

  /** As Redis answers with what a function returns: numbers lose what is behind the point, a list ends before its first nil. */
  reply(at: number): Reply {
    const { module, state } = this
    const type = module._lua_type(state, at)
    if (type === types.number) return Math.trunc(module._lua_tonumber(state, at))
    if (type === types.string) return this.text(at)
    if (type === types.boolean) return module._lua_toboolean(state, at) ? 1 : null
    if (type !== types.table) return null
    const err = this.#field(at, 'err')
    if (err !== undefined) return { err }
    const ok = this.#field(at, 'ok')
    if (ok !== undefined) return { ok }
    const list: Reply[] = []
    const table = at < 0 ? module._lua_gettop(state) + 1 + at : at
    for (let place = 1; ; place++) {
      module._lua_rawgeti(state, table, place)
      const isEnd = module._lua_type(state, -1) === types.nil
      if (!isEnd) list.push(this.reply(-1))
      module._lua_settop(state, -2)
      if (isEnd) return list
    }
  }

  /** As cjson encodes: a table without anything is an object. */
  json(at: number): string {
    const { module, state } = this
    const type = module._lua_type(state, at)
    if (type === types.string) return quoted(this.text(at))
    if (type === types.number) return String(Number(module._lua_tonumber(state, at).toPrecision(14)))
    if (type === types.boolean) return module._lua_toboolean(state, at) ? 'true' : 'false'
    if (type !== types.table) return 'null'
    const table = at < 0 ? module._lua_gettop(state) + 1 + at : at
    const fields: [name: string, isPlace: boolean, text: string][] = []
    this.#pushNil()
    while (module._lua_next(state, table)) {
      const isPlace = module._lua_type(state, -2) === types.number
      fields.push([this.word(-2)!, isPlace, this.json(-1)])
      module._lua_settop(state, -2)
    }
    if (fields.length > 0 && fields.every(([, isPlace]) => isPlace))
      return `[${fields.map(([, , text]) => text).join(',')}]`
    return `{${fields.map(([name, , text]) => `${quoted(name)}:${text}`).join(',')}}`
  }

  #pushNil(): void {
    const top = this.module._lua_gettop(this.state)
    this.module._lua_settop(this.state, top + 1)
  }

  /** What a table has under a name, where that is a text. Its functions are left alone. */
  #field(at: number, name: string): string | undefined {
    const { module, state } = this
    const table = at < 0 ? module._lua_gettop(state) + 1 + at : at
    this.pushText(name)
    module._lua_rawget(state, table)
    const text = module._lua_type(state, -1) === types.string ? this.text(-1) : undefined
    module._lua_settop(state, -2)
    return text
  }

  #pushFields<T>(fields: Record<string, T>, push: (each: T) => void): void {
    const { module, state } = this
    module._lua_createtable(state, 0, 1)
    for (const [name, value] of Object.entries(fields)) {
      this.pushText(bytesOf(name))
      push(value)
      module._lua_rawset(state, -3)
    }
  }

  #pushList<T>(list: readonly T[], push: (each: T) => void): void {
    const { module, state } = this
    module._lua_createtable(state, list.length, 0)
    list.forEach((each, at) => {
      push(each)
      module._lua_rawseti(state, -2, at + 1)
    })
  }
}

/** A text of bytes as cjson quotes it: with no control character, and a mark before each slash. */
const quoted = (text: string): string => {
  let written = '"'
  for (const char of text) {
    const code = char.charCodeAt(0)
    if (code >= 0x20 && code !== 0x7f) written += short[char] ?? char
    else written += short[char] ?? `\\u${code.toString(16).padStart(4, '0')}`
  }
  return `${written}"`
}
const short: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** What cjson.decode is given. @throws SyntaxError */
export const parsedJson = (bytes: string): unknown => JSON.parse(textOf(bytes))
