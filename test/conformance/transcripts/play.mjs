// Plays clients/vectors/transcripts.json to a caller or a worker: what it is answered, and what it must send then.
import { equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/prepare.mjs'
import { startMember } from '../language.mjs'
import { ScriptedRedis } from './scripted-redis.mjs'

const { defaults, transcripts } = JSON.parse(readFileSync(join(root, 'clients/vectors/transcripts.json'), 'utf8'))

const patienceMs = 60_000

/** Whether a value has all that a pattern has: members that it does not name may be anything. */
const holds = (value, pattern) =>
  typeof pattern === 'object' && pattern !== null
    ? typeof value === 'object' && value !== null && Object.keys(pattern).every(key => holds(value[key], pattern[key]))
    : value === pattern

const parsed = text => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Whether a word is as the pattern wants it: this text; `*`: any; `<name>`, in a text too: any, and the same wherever that name
 * stands; `{ json }`: JSON with these members; `{ text }`: a regular expression, with names in it. Two names are two words.
 */
const fits = (word, pattern, names) => {
  if (pattern === '*') return true
  if (pattern.json) return holds(parsed(word), pattern.json)
  const source = typeof pattern === 'string' ? `^${escaped(pattern)}$` : pattern.text
  const known = source.replace(/<(\w+)>/g, (named, name) => (names.has(name) ? escaped(names.get(name)) : named))
  const found = new RegExp(known.replace(/<(\w+)>/g, '(?<$1>[\\w-]+)')).exec(word)
  if (!found) return false
  for (const [name, text] of Object.entries(found.groups ?? {})) {
    if ([...names.values()].includes(text)) return false
    names.set(name, text)
  }
  return true
}

const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Words of a function's keys and arguments follow their number. `...` at the end stands for any further words. */
const matches = (words, pattern, names) => {
  const isOpen = pattern.at(-1) === '...'
  const wanted = isOpen ? pattern.slice(0, -1) : pattern
  if (isOpen ? words.length < wanted.length : words.length !== wanted.length) return false
  const learned = new Map(names)
  if (!wanted.every((each, at) => fits(words[at], each, learned))) return false
  for (const [name, text] of learned) names.set(name, text)
  return true
}

class Player {
  #transcript
  #names = new Map()
  #done = 0
  #forbidden
  #finished
  #stopped
  #redis

  constructor(transcript) {
    this.#transcript = transcript
    this.finished = new Promise((resolve, reject) => {
      this.#finished = { resolve, reject }
    })
    this.finished.catch(() => undefined)
    this.stopped = new Promise(resolve => {
      this.#stopped = resolve
    })
    this.#redis = new ScriptedRedis(transcript, defaults, words => this.#see(words))
  }

  get redis() {
    return this.#redis
  }

  #see(words) {
    const { sends, never = [] } = this.#transcript
    this.#forbidden ??= never.some(pattern => matches(words, pattern, new Map(this.#names))) ? words : undefined
    if (this.#forbidden) this.#finished.reject(new Error(`it must never send ${JSON.stringify(this.#forbidden)}`))
    const wanted = sends[this.#done]
    if (!wanted || !(wanted.either ?? [wanted]).some(pattern => matches(words, pattern, this.#names))) return
    this.#redis.advance(++this.#done, this.#names)
    if (sends[this.#done] === 'stop') {
      this.#done++
      this.#stopped()
    }
    if (this.#done === sends.length) this.#finished.resolve()
  }

  /** What was waited for in vain, with what came instead. */
  get missing() {
    const wanted = JSON.stringify(this.#transcript.sends[this.#done])
    const seen = this.#redis.sent.map(words => words.join(' ').slice(0, 300))
    return new Error(`it did not send ${wanted}; it sent\n${seen.slice(-10).join('\n')}`)
  }
}

/** @param language as language.mjs loads it */
const play = async (transcript, language) => {
  const player = new Player(transcript)
  const url = await player.redis.listen()
  const { side, call, outcome } = transcript
  const own = side === 'worker' ? { PSHUB_QUEUE: 'q', PSHUB_SLOTS: '4', PSHUB_BUILD: '3f2c1a' } : { PSHUB_NAME: 'shop' }
  const env = { PSHUB_REDIS: url, PSHUB_NAMESPACE: 'pshub', ...own }
  let member
  let timer
  try {
    member = await startMember(language[side], language.folder, env)
    void player.stopped.then(() => member.end())
    const answered = call && member.order('call', { ...call, args: JSON.stringify(call.args) }).answer
    const tooLong = new Promise((_, reject) => {
      timer = setTimeout(() => reject(player.missing), patienceMs)
    })
    await Promise.race([player.finished, tooLong])
    if (outcome) {
      const { result, ...rest } = await Promise.race([answered, tooLong])
      const seen = { ...rest, ...(result === undefined ? {} : { result: JSON.parse(result) }) }
      ok(holds(seen, outcome), `its outcome was ${JSON.stringify(seen)}`)
    }
    equal(await member.end(), 0)
    // What it did on its way out counts too.
    await Promise.race([player.finished, tooLong])
  } finally {
    clearTimeout(timer)
    if (member && !member.isGone) await member.kill()
    await player.redis.close()
  }
}

/** One check for each transcript. */
export const transcriptChecks = transcripts.map(transcript => ({
  name: `transcript: ${transcript.side}: ${transcript.title}`,
  run: pair => play(transcript, pair.languages[transcript.side]),
}))
