// A server that speaks Redis' protocol, answers as a transcript says, and keeps what it was sent.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { CommandReader, encodeAnswer } from './resp.mjs'

/** A command as transcripts name it: functions by their own names. */
const nameOf = ([name, operation]) => (name === 'FCALL' ? operation : name)

/** Seconds and microseconds, as TIME tells them. */
const parts = () => {
  const us = Date.now() * 1000
  return [String(Math.floor(us / 1_000_000)), String(us % 1_000_000)]
}

export class ScriptedRedis {
  /** All commands, in the order in which they came on whatever connection. */
  sent = []
  #server = createServer(socket => this.#serve(socket))
  #sockets = new Set()
  #answers
  #defaults
  #hashes
  /** What patterns of `sends` have named: <worker>, <id>. */
  #names = new Map()
  /** How many of `sends` have come. */
  #come = 0
  #waiting = new Set()
  #onSent

  /**
   * @param transcript its `answers`: by the beginning of a command, in turn
   * @param defaults `answers` when none is left, and `hashes`: key -> field -> text
   * @param onSent called with each command
   */
  constructor({ answers = {} }, { answers: defaults, hashes }, onSent) {
    this.#answers = new Map(Object.entries(answers).map(([begin, list]) => [begin, [...list]]))
    this.#defaults = Object.entries(defaults)
    this.#hashes = hashes
    this.#onSent = onSent
  }

  async listen() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `redis://127.0.0.1:${this.#server.address().port}`
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy()
    for (const wake of this.#waiting) wake()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** So many of `sends` have come, and `names` is what was named by then. */
  advance(come, names) {
    this.#come = come
    this.#names = new Map(names)
    for (const wake of this.#waiting) wake()
  }

  async #serve(socket) {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => undefined)
    const reader = new CommandReader()
    const session = { isNew: false, last: Promise.resolve() }
    socket.on('data', chunk => {
      // One after the other: what waits holds up what was sent behind it, as in Redis.
      for (const words of reader.push(chunk)) session.last = session.last.then(() => this.#take(socket, session, words))
    })
  }

  async #take(socket, session, words) {
    if (socket.destroyed) return
    words[0] = words[0].toUpperCase()
    if (words[0] === 'FUNCTION' || words[0] === 'CLIENT') words[1] = words[1].toUpperCase()
    if (words[0] === 'HELLO') session.isNew = words[1] === '3'
    // A worker beats for its one queue with either function. Transcripts have the simple one, which needs a look at what is held beside it.
    const isOneOfBeats = words[1] === 'pshub_1_beats'
    if (isOneOfBeats) words[1] = 'pshub_1_beat'
    this.#note(words)
    const beat = await this.#answerTo(words, socket)
    const answer = isOneOfBeats && Array.isArray(beat) ? [[beat, await this.#heldBeside(words, socket), 0]] : beat
    if (answer?.cut) socket.destroy()
    else if (!socket.destroyed) socket.write(encodeAnswer(answer, session.isNew))
  }

  #note(words) {
    this.sent.push(words)
    this.#onSent(words)
  }

  /** @param beat the words of a beat: a worker's held hash is its sixth key */
  #heldBeside(beat, socket) {
    const look = ['HKEYS', beat[8]]
    this.#note(look)
    return this.#answerTo(look, socket)
  }

  async #answerTo(words, socket) {
    const line = [nameOf(words), ...words.slice(words[0] === 'FCALL' ? 2 : 1)].join(' ')
    for (const [begin, list] of this.#answers)
      if (list.length > 0 && line.startsWith(begin)) return this.#filled(list.shift(), socket)
    const found = this.#defaults.find(([begin]) => line.startsWith(begin))?.[1]
    if (found !== undefined) return this.#filled(found, socket)
    return this.#dataOf(words, socket)
  }

  #dataOf([name, key, ...args], socket) {
    const hash = this.#hashes[key] ?? {}
    const field = each => (hash[each] === undefined ? null : JSON.stringify(hash[each]))
    switch (name) {
      case 'TIME':
        return parts()
      case 'HKEYS':
        return Object.keys(hash)
      case 'HGET':
        return field(args[0])
      case 'HMGET':
        return args.map(field)
      case 'HSTRLEN':
        return field(args[0])?.length ?? 0
      // Nothing comes: these wait for as long as they say.
      case 'BLPOP':
      case 'BLMOVE':
        return this.#wait(Number(args.at(-1)) * 1000, socket).then(() => null)
      default:
        return { error: `ERR unknown command '${name}'` }
    }
  }

  /** With the names in it, when it is its turn. */
  async #filled(answer, socket) {
    const { after = 0, then = answer } = answer ?? {}
    while (this.#come < after && !socket.destroyed) await this.#wait(10_000, socket)
    const [seconds, us] = parts()
    const text = JSON.stringify(then).replaceAll('<now>', seconds + us.padStart(6, '0'))
    return JSON.parse(text.replace(/<(\w+)>/g, (_, name) => this.#names.get(name)))
  }

  #wait(ms, socket) {
    return new Promise(resolve => {
      const wake = () => {
        clearTimeout(timer)
        socket.off('close', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      socket.on('close', wake)
      this.#waiting.add(wake)
    })
  }
}
