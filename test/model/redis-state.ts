import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { type Keys, makeKeys } from '../../src/wire/keys.ts'
import type { Waiting } from './holdings.ts'
import type { Model } from './model.ts'
import { asDead, nameOf, namespace, shortReply } from './requests.ts'

/** Key -> content, as plain data that can be compared. */
type State = Record<string, string | string[] | Record<string, string>>

type Dump = [time: [string, string], ...keys: [key: string, kind: string, ttlMs: number, value: string | string[]][]]

/** All keys of the server with what they hold, in one step; it only reads, so that a full Redis runs it too. */
const dumpScript = `
local read = {
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  hash = function(key) return redis.call('HGETALL', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  string = function(key) return redis.call('GET', key) end,
}
local dump = { redis.call('TIME') }
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  dump[#dump + 1] = { key, kind, redis.call('PTTL', key), read[kind](key) }
end
return dump`

/** The longest lives of keys that go by themselves (PROTOCOL.md, section 2), by what their names hold; others stay. */
const lives: [part: RegExp, ms: number][] = [
  [/:pushed:/, 60_000],
  [/:reply:/, 60_000],
  [/:cancelled$/, 5000],
  [/:reporter$/, 3000],
]

const pairs = (flat: string[]): Record<string, string> => {
  const object: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) object[flat[i]!] = flat[i + 1]!
  return object
}

export const keys: Keys = makeKeys(namespace)
export const queueKeys = keys.queue('q')

/** Redis as it is. Throws when a key has a life that it should not have. */
const readState = async (redis: Redis): Promise<{ state: State; nowUs: number }> => {
  const [[seconds, us], ...entries] = (await redis.eval(dumpScript, 0)) as Dump
  const state: State = {}
  for (const [key, kind, ttlMs, value] of entries) {
    const life = lives.find(([part]) => part.test(key))?.[1]
    if (life === undefined) assert.equal(ttlMs, -1, `${key} would go by itself`)
    else assert(ttlMs >= 0 && ttlMs <= life, `${key} lives for another ${ttlMs} ms`)
    state[key] =
      typeof value === 'string'
        ? value
        : key.includes(':reply:')
          ? value.map(shortReply)
          : kind === 'list'
            ? value
            : key === queueKeys.dead
              ? Object.fromEntries(Object.keys(pairs(value)).map(text => [asDead(text), 'dead']))
              : pairs(value)
  }
  return { state, nowUs: Number(seconds) * 1_000_000 + Number(us) }
}

/** What Redis should hold: each key of the model that is not empty, and no other. */
const expectedState = (model: Model): State => {
  const state: State = {}
  const texts = (map: Map<string, string | number>) =>
    Object.fromEntries([...map].map(([field, value]) => [field, String(value)]))
  for (const [name, { texts, bell }] of Object.entries(model.lists)) {
    const [list, bellKey] = name === 'calls' ? [queueKeys.calls, queueKeys.bell] : [queueKeys.jobs, queueKeys.jobBell]
    if (texts.length > 0) state[list] = texts
    if (bell) state[bellKey] = ['1']
  }
  if (model.dead.length > 0) state[queueKeys.dead] = Object.fromEntries(model.dead.map(text => [text, 'dead']))
  if (model.leases.size > 0) state[queueKeys.leases] = texts(model.leases)
  if (model.cancelled.size > 0) state[queueKeys.cancelled] = texts(model.cancelled)
  if (model.pausedMs !== undefined) state[queueKeys.paused] = String(model.pausedMs)
  if (model.reporter) state[queueKeys.reporter] = model.reporter.id
  for (const [worker, held] of model.held) state[queueKeys.held(worker)] = texts(held)
  for (const [hub, { number, accepted, at }] of model.pushed) {
    state[queueKeys.pushed(hub)] = `${number}:${accepted}:${at}`
  }
  for (const [hub, replies] of model.replies) if (replies.length > 0) state[keys.reply(hub)] = replies
  return state
}

/** Redis holds exactly what the model says, and both keep the promises. Returns Redis' time. */
export const compare = async (redis: Redis, model: Model): Promise<void> => {
  const { state, nowUs } = await readState(redis)
  const nowMs = Math.floor(nowUs / 1000)
  // Where this machine stood still for seconds, the words of callers who gave up went by themselves.
  if (!(queueKeys.cancelled in state) && nowMs >= model.cancelledUntilMs) model.cancelled.clear()
  if (!(queueKeys.reporter in state) && nowMs >= (model.reporter?.untilMs ?? 0)) model.reporter = undefined
  assert(nowUs >= model.nowUs, "an answer's time was ahead of Redis' clock")
  model.nowUs = nowUs
  checkPromises(model, state)
  assert.deepEqual(state, expectedState(model))
}

/** What must hold whatever the model thinks of a single step. Read from Redis' own state where it can be. */
const checkPromises = (model: Model, state: State): void => {
  const calls = (state[queueKeys.calls] ?? []) as string[]
  const jobs = (state[queueKeys.jobs] ?? []) as string[]
  const where = new Map<string, string[]>()
  const found = (text: string, place: string) => where.set(nameOf(text), [...(where.get(nameOf(text)) ?? []), place])
  for (const text of [...calls, ...jobs]) found(text, 'list')
  const leases = (state[queueKeys.leases] ?? {}) as Record<string, string>
  for (const [key, held] of Object.entries(state)) {
    if (!key.startsWith(queueKeys.held(''))) continue
    const worker = key.slice(queueKeys.held('').length)
    assert(worker in leases, `${key} is held without a lease: nobody would look for it`)
    for (const text of Object.values(held)) found(text, 'held')
  }
  for (const [name, place] of model.places) {
    const isOver = place !== 'list' && place !== 'held'
    const expected = isOver ? [] : [place]
    assert.deepEqual(where.get(name) ?? [], expected, `${name} (${place}) was lost or is in two places`)
    where.delete(name)
  }
  assert.deepEqual([...where.keys()], [], 'requests that nobody was told of')
  for (const [name, count] of model.starts) assert.equal(count, 1, `${name} must not run twice`)

  checkBell(model.lists.calls, calls, (state[queueKeys.bell] ?? []) as string[])
  checkBell(model.lists.jobs, jobs, (state[queueKeys.jobBell] ?? []) as string[])
}

const checkBell = (waiting: Waiting, listed: string[], tokens: string[]): void => {
  assert(tokens.length <= 1, 'a bell has one token at most')
  if (listed.length === 0 || tokens.length > 0) waiting.mayBeSilent = false
  else assert(waiting.mayBeSilent, 'requests wait and their bell is silent')
}
