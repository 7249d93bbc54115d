import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { heldText, KeysActors, shownHeld } from './keys-actors.ts'
import { KeysModel } from './keys-model.ts'
import type { KeyStep } from './keys-steps.ts'

const allHeld = (model: KeysModel) =>
  [...model.held].flatMap(([worker, own]) => [...own].map(([heldId, held]) => ({ worker, heldId, held })))
const other = (worker: string) => (worker === 'a' ? 'b' : 'a')

const act = async (model: KeysModel, actors: KeysActors, step: KeyStep): Promise<void> => {
  switch (step.do) {
    case 'enqueue':
      return actors.enqueue(step.specs)
    case 'claim':
      return actors.claim(step.worker, step.slots, step.rule, step.bytes)
    case 'settle': {
      const all = allHeld(model)
      const chosen = all[step.which % Math.max(1, all.length)]
      if (!chosen) return
      return actors.settle(
        chosen.worker,
        chosen.heldId,
        chosen.held,
        step.words,
        step.outcome,
        step.delayMs,
        step.isGivenUp,
      )
    }
    case 'handback':
      return actors.handback(step.worker, at => (step.mask & (1 << (at % 3))) !== 0, step.isGivenUp)
    case 'arrive': {
      if (await actors.wire.arrive(step.which)) model.situations.add('a given-up command arrived')
      return
    }
    case 'reconnect':
      return void (await actors.wire.reconnect(step.worker))
    case 'adopt': {
      // Each heir takes what came back, and dies of it in turn.
      let lost = step.worker
      for (let death = 0; death < step.deaths; death++) {
        await actors.adopt(lost, other(lost))
        lost = other(lost)
        if (death + 1 < step.deaths) await actors.claim(lost, 4, { batch: 3, payloads: 4 }, 1_000_000)
      }
      return
    }
    case 'leave':
      return actors.leave(step.worker)
    case 'lose':
      return actors.lose(step.worker)
    case 'key':
      return actors.actOn(step.task, step.key, step.act)
    case 'revive': {
      const dead = model.dead[step.which % Math.max(1, model.dead.length)]
      return dead && actors.revive(dead)
    }
    case 'clock':
      if (step.byMs < 0) model.situations.add('the clock was set back')
      return actors.setClock(step.byMs)
    case 'due':
      return actors.due()
    case 'orphans':
      return actors.freeOrphans()
  }
}

/** All keys of the namespace as they are, by their names behind that of the queue. */
const dumpScript = `
local dump = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local kind, value = redis.call('TYPE', key).ok, nil
  if kind == 'list' then value = redis.call('LRANGE', key, 0, -1) end
  if kind == 'hash' then value = redis.call('HGETALL', key) end
  if kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  if kind == 'string' then value = { redis.call('GET', key) } end
  dump[#dump + 1] = { string.sub(key, #ARGV[1] + 1), value }
end
return dump`

type State = Record<string, unknown>
const pairs = (flat: string[]): [string, string][] =>
  flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1]!] as [string, string]] : []))
const numbers = (flat: string[]): Record<string, number> =>
  Object.fromEntries(pairs(flat).map(([field, text]) => [field, Number(text.replace('inf', 'Infinity'))]))
const shownJob = (text: string) => {
  const { id, at, job } = JSON.parse(text)
  const losses = Number(/,"losses":(\d+)\}$/.exec(text)?.[1] ?? 0)
  return { id, at, tries: job.tries ?? 0, losses }
}
const shownDead = (text: string): string => {
  const { id, task, job, args } = JSON.parse(text)
  return JSON.stringify([id, task, job.key, job.tries, job.merged ? [args, job.score] : null])
}

/** Of what goes by itself, or says only that somebody is there, nothing is compared. */
const ignored = /^(leases|enqueued:.*|turn|ticker|duebell|jobbell|fence|lined)$/

const readers: [RegExp, (flat: string[]) => unknown][] = [
  [/^line:/, flat => flat.map(shownJob)],
  [/^(merged:|keys:|next:|later$|keyed$)/, numbers],
  [/^(running:|scores$)/, flat => Object.fromEntries(pairs(flat))],
  [/^tried:/, flat => Object.fromEntries(pairs(flat).map(([key, text]) => [key, shownTried(JSON.parse(text))]))],
  [
    /^held:/,
    flat =>
      pairs(flat)
        .map(([id, text]) => heldText(id.slice(4), text))
        .sort(),
  ],
  [
    /^dead$/,
    flat =>
      pairs(flat)
        .map(([text]) => shownDead(text))
        .sort(),
  ],
  [
    /^retries$/,
    flat =>
      pairs(flat)
        .map(([text, due]) => ({ ...shownJob(text), due: Number(due) }))
        .sort(byId),
  ],
]
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
const shownTried = ({ tries = 0, losses = 0 }: { tries?: number; losses?: number }) => ({ tries, losses })

const readState = (dump: [string, string[]][]): State => {
  const state: State = {}
  for (const [name, flat] of dump) {
    if (ignored.test(name)) continue
    const read = readers.find(([pattern]) => pattern.test(name))?.[1]
    assert(read, `${name} is nobody's`)
    state[name] = read(flat)
  }
  return state
}

/** What Redis should have: each key that is not empty, and no other. */
const expectedState = (model: KeysModel): State => {
  const state: State = {}
  const put = (name: string, field: string, value: unknown) => {
    state[name] = { ...(state[name] as object), [field]: value }
  }
  for (const [task, ofTask] of model.keys) {
    for (const [key, { line, set, place, tried, nextMs }] of ofTask) {
      if (line.length > 0)
        state[`line:${task}:${key}`] = line.map(({ id, at, tries, losses }) => ({ id, at, tries, losses }))
      if (set.size > 0) state[`merged:${task}:${key}`] = Object.fromEntries(set)
      if (place?.is === 'due') put(`keys:${task}`, key, place.sinceUs)
      if (place?.is === 'later') put('later', `${task} ${key}`, place.atMs)
      if (place?.is === 'running') put(`running:${task}`, key, `${place.fence} ${place.worker} ${place.id}`)
      if (tried) put(`tried:${task}`, key, tried)
      if (nextMs !== undefined) put(`next:${task}`, key, nextMs)
    }
    const all = [...ofTask.values()]
    const isThere = all.some(({ line, set, place }) => line.length + set.size > 0 || place?.is === 'running')
    if (isThere) put('keyed', task, model.due(task)[0]?.sinceUs ?? Number.POSITIVE_INFINITY)
  }
  for (const [task, first] of Object.entries(model.scores)) put('scores', task, first)
  for (const [worker, own] of model.held)
    if (own.size > 0)
      state[`held:${worker}`] = [...own].map(([heldId, held]) => shownHeld(heldId.slice(4), held)).sort()
  const dead = model.dead.map(({ id, task, key, tries, payload }) =>
    JSON.stringify([id, task, key, tries, payload ? [JSON.parse(payload[0]), payload[1]] : null]),
  )
  if (dead.length > 0) state.dead = dead.sort()
  const passed = [...model.passed.values()].map(({ job: { id, at, tries, losses }, dueMs }) => ({
    id,
    at,
    tries,
    losses,
    due: dueMs,
  }))
  if (passed.length > 0) state.retries = passed.sort(byId)
  return state
}

const compare = async (model: KeysModel, actors: KeysActors): Promise<void> => {
  const base = actors.jobs.keys.jobs.slice(0, -'jobs'.length)
  const dump = (await actors.redis.eval(dumpScript, 0, base)) as [string, string[]][]
  assert.deepEqual(readState(dump), expectedState(model))
  const all = Object.fromEntries(dump)
  const lined = numbers(all.lined ?? [])
  for (const [task, ofTask] of model.keys) {
    const count = [...ofTask.values()].reduce((sum, { line, set }) => sum + line.length + Math.min(1, set.size), 0)
    assert.equal(lined[task] ?? 0, count, `so many jobs are counted in the lines of ${task}`)
  }
  if (model.due().length > 0) assert.deepEqual(all.jobbell, ['1'], 'what is due wakes somebody')
  if (model.lastFence > 0) assert(Number(all.fence?.[0]) >= model.lastFence, 'the last token is known')
}

/** Everything is run to its end, and nothing is left. */
const drain = async (model: KeysModel, actors: KeysActors): Promise<void> => {
  for (let turns = 0; ; turns++) {
    assert(turns < 1000, 'it comes to an end')
    await actors.setClock(10_000_000)
    await actors.due()
    await actors.freeOrphans()
    await actors.claim('a', 100, { batch: 3, payloads: 2 }, 1_000_000)
    const held = allHeld(model)
    for (const { worker, heldId, held: each } of held) await actors.settle(worker, heldId, each, undefined, 'done', 0)
    await compare(model, actors)
    const isEmpty = [...model.keys.values()].every(ofTask => [...ofTask.values()].every(({ place }) => !place))
    if (isEmpty && held.length === 0 && model.passed.size === 0) break
  }
  for (const ofTask of model.keys.values())
    for (const { line, set, tried, nextMs } of ofTask.values())
      assert.deepEqual([line.length, set.size, tried, nextMs], [0, 0, undefined, undefined], 'nothing is left of a key')
}

/** One run in a namespace of its own. Returns what came up in it. */
export const runKeys = async (
  redis: Redis,
  namespace: string,
  steps: KeyStep[],
  isFenced = true,
): Promise<Set<string>> => {
  const model = new KeysModel()
  const actors = new KeysActors(redis, namespace, model, isFenced)
  for (const step of steps) {
    await actors.tick()
    await act(model, actors, step)
    await compare(model, actors)
  }
  await drain(model, actors)
  const keys = await redis.keys(`${namespace}:*`)
  const mayStay = /:(leases|dead|jobbell|duebell|scores|fence|turn|ticker|enqueued:h)$/
  for (const key of keys) assert(mayStay.test(key), `${key} is left behind`)
  if (keys.length > 0) await redis.del(...keys)
  return model.situations
}
