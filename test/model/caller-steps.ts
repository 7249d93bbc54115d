import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Actors } from './actors.ts'
import type { Model } from './model.ts'
import type { HubModel } from './processes.ts'
import { keys, queueKeys } from './redis-state.ts'
import { handMade, handMadeKinds, leadingIdOf, messageOf, tasks } from './requests.ts'
import { anyMask, aside, chosen, isOutOfMemory, oneOf, readTime, type Step, sawTime, step } from './step.ts'

/** How long cancel.lua is told to keep a word, and claims are told to look for it (queue.ts). */
export const cancelMemoryMs = 5000

const anyHub = fc.nat(1)

/** Most live for an hour; some for a moment, and some have no deadline. */
const anyTtl = fc.oneof({ weight: 4, arbitrary: fc.constant(3_600_000) }, fc.constantFrom(0, 1, 2))
const anyRequest = fc.record({
  task: fc.constantFrom(...tasks, 'once:1.0' as const, 'again:1.0' as const),
  ttl: anyTtl,
  args: fc.nat(5),
})
/** Mostly few; at times more than one adoption moves, and more than one plain push of replies holds. */
const anyBatch = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyRequest, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.array(anyRequest, { minLength: 66, maxLength: 90 }) },
)

const push = async (
  model: Model,
  { redis, queue }: Actors,
  hub: HubModel,
  number: number,
  messages: string[],
  maxLength: number,
  onItsWayMs?: number,
): Promise<void> => {
  const countedAtUs = onItsWayMs === undefined ? 0 : (await readTime(redis)) - onItsWayMs * 1000
  const pushing = queue.push(redis, hub.id, number, maxLength, messages, countedAtUs)
  if (model.isFull) {
    await assert.rejects(pushing, isOutOfMemory)
    model.situations.add('a push to a full Redis')
    return
  }
  const pushed = await pushing
  if (!pushed.repeated) sawTime(model, Number(pushed.at))
  assert.deepEqual(pushed, model.push(hub.id, number, maxLength, messages, countedAtUs, pushed.at))
}

export const pushStep = step(
  'push',
  // `room`: how many fit below the limit; most pushes meet none. `onItsWayMs`: unknown to most.
  fc.record({
    hub: anyHub,
    batch: anyBatch,
    room: fc.option(fc.nat(4), { nil: undefined, freq: 4 }),
    onItsWayMs: fc.constantFrom(undefined, undefined, -20, 0, 40, 5000),
  }),
  async (model, actors, { hub: index, batch, room, onItsWayMs }) => {
    const hub = model.hubs[index]!
    const messages = batch.map(request => messageOf(model.nextRequestId(), hub.id, request))
    const maxLength = room === undefined ? 10_000 : model.lists.calls.texts.length + room
    const wasFull = model.isFull
    await push(model, actors, hub, ++hub.number, messages, maxLength, onItsWayMs)
    // One that was refused is never sent again: its callers were told.
    hub.last = wasFull ? undefined : { messages, maxLength }
  },
)

/** The answer of the last push was lost: the same again, with what is left of each ttl. */
const pushAgainStep = step('pushAgain', fc.record({ hub: anyHub }), async (model, actors, { hub: index }) => {
  const hub = model.hubs[index]!
  if (!hub.last) return
  const messages = hub.last.messages.map(message => message.replace(/^"ttl":3600000/, '"ttl":3599000'))
  await push(model, actors, hub, hub.number, messages, hub.last.maxLength)
})

/** A push that never arrived was given up: its number is missing. */
const pushAfterCutStep = step('pushAfterCut', fc.record({ hub: anyHub }), async (model, actors, { hub: index }) => {
  const hub = model.hubs[index]!
  if (model.isFull) return
  const messages = [messageOf(model.nextRequestId(), hub.id, { task: 'once:1.0', ttl: 3_600_000, args: 0 })]
  hub.number += 2
  await push(model, actors, hub, hub.number, messages, 10_000)
  hub.last = { messages, maxLength: 10_000 }
})

/** A cut connection delivers what it was sent, after its push was given up. */
const latePushStep = step(
  'latePush',
  fc.record({ hub: anyHub, by: fc.integer({ min: 1, max: 3 }) }),
  async (model, actors, { hub: index, by }) => {
    const hub = model.hubs[index]!
    const known = model.pushed.get(hub.id)?.number ?? 0
    if (known <= by) return
    const message = messageOf(model.nextRequestId(), hub.id, { task: 'once:1.0', ttl: 0, args: 1 })
    await push(model, actors, hub, known - by, [message], 10_000)
  },
)

const handPushStep = step(
  'handPush',
  fc.record({
    list: fc.constantFrom('calls' as const, 'jobs' as const),
    hub: anyHub,
    kind: fc.nat(handMadeKinds - 1),
    rings: fc.boolean(),
  }),
  async (model, { redis }, { list, hub, kind, rings }) => {
    const { [list]: listKey, [list === 'calls' ? 'bell' : 'jobBell']: bellKey } = queueKeys
    const text = handMade(kind, model.nextRequestId(), model.hubs[hub]!.id, model.nowUs)
    if (model.isFull) {
      await assert.rejects(redis.rpush(listKey, text), isOutOfMemory)
      return
    }
    await redis.rpush(listKey, text)
    if (rings) await Promise.all([redis.rpush(bellKey, 1), redis.ltrim(bellKey, 0, 0)])
    model.pushByHand(list, text, rings)
  },
)

/** The caller knows the text of its request, knows it wrongly, or does not know it; the request waits or not. */
const cancelStep = step(
  'cancel',
  fc.record({
    which: fc.nat(50),
    waits: fc.boolean(),
    text: fc.constantFrom('exact' as const, 'exact' as const, 'wrong' as const, 'unknown' as const),
    isGivenUp: fc.constantFrom(false, false, false, true),
  }),
  async (model, actors, { which, waits, text, isGivenUp }) => {
    const held = [...model.held.values()].flatMap(texts => [...texts.values()])
    const target = oneOf(waits ? model.lists.calls.texts : held, which)
    const id = target === undefined ? undefined : leadingIdOf(target)
    if (target === undefined || id === undefined) return
    const sent = { exact: target, wrong: target.replace('"at":', '"at":1'), unknown: '' }[text]
    const act = () => cancel(model, actors, id, sent)
    if (isGivenUp) actors.wire.giveUp('hub', act)
    else await act()
  },
)

const cancel = async (model: Model, { redis, queue }: Actors, id: string, sent: string): Promise<void> => {
  const before = await readTime(redis)
  const removed = await queue.cancel(redis, id, sent)
  const at = removed ? 0 : Number(await redis.zscore(queueKeys.cancelled, id))
  assert.equal(removed, model.cancel(id, sent, at, cancelMemoryMs))
  if (removed) return
  assert(at >= Math.floor(before / 1000) && at * 1000 <= (await readTime(redis)), `${id} has a wrong time`)
  model.situations.add(model.isFull ? 'a word left in a full Redis' : 'a word left')
}

/** Four seconds and more pass for the words that callers left; the last beat to read them drops them. */
const wordsAgeStep = step('wordsAge', fc.record({ which: anyMask }), async (model, { redis }, { which }) => {
  for (const id of chosen(model.cancelled.keys(), which)) {
    const at = model.cancelled.get(id)! - 2 * cancelMemoryMs
    await aside(model, redis, () => redis.zadd(queueKeys.cancelled, 'XX', at, id))
    model.cancelled.set(id, at)
  }
})

/** The next reply makes the list anew, which must have an end of life again. */
const readRepliesStep = step(
  'readReplies',
  fc.record({ hub: anyHub, count: fc.integer({ min: 1, max: 9 }) }),
  async (model, { redis }, { hub, count }) => {
    const { id } = model.hubs[hub]!
    await redis.lpop(keys.reply(id), count)
    model.replies.set(id, (model.replies.get(id) ?? []).slice(count))
  },
)

export const callerSteps: fc.Arbitrary<Step>[] = [
  pushStep,
  pushStep,
  pushStep,
  pushAgainStep,
  pushAfterCutStep,
  latePushStep,
  handPushStep,
  handPushStep,
  handPushStep,
  cancelStep,
  cancelStep,
  wordsAgeStep,
  readRepliesStep,
]
