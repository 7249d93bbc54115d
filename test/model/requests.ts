import { requestBody, requestTail, unstamped } from '../../src/wire/message.ts'

/** Where a request is: in the list, held by one worker, or over. */
export type Place = 'list' | 'held' | 'released' | 'dropped' | 'cancelled'

export const namespace = 'model'
export const replyKey = (hubId: string): string => `${namespace}:reply:{${hubId}}`

/** Arguments that a function which decodes and encodes, or cuts, would spoil. The long one makes a hash a real hash table. */
const argsTexts = [
  '{}',
  '[]',
  '{"a":[],"b":9007199254740993}',
  '"\\ud800 \u00e9 \u{1f49a}"',
  `"${'x'.repeat(90)}"`,
  '-0',
]

/** Tasks: must not run twice, may run twice, and one that no worker of these runs has. */
export const tasks = ['once:1.0', 'again:1.0', 'foreign:1.0'] as const

export interface RequestSpec {
  task: (typeof tasks)[number]
  /** Milliseconds; 0 is none. */
  ttl: number
  args: number
}

/** The request as a hub hands it to the push function. */
export const messageOf = (id: string, hubId: string, { task, ttl, args }: RequestSpec): string =>
  unstamped(
    ttl,
    requestBody(
      id,
      task,
      task === 'again:1.0',
      argsTexts[args % argsTexts.length]!,
      requestTail(replyKey(hubId), undefined, undefined),
    ),
  )

/** The same, when some of its time is over; it keeps a millisecond, so that it is not taken for one without a deadline. */
export const withTtlLess = (message: string, ms: number): string =>
  message.replace(/^"ttl":([1-9]\d*)/, (_, ttl) => `"ttl":${Math.max(1, ttl - ms)}`)

/** What people push by hand: the fields in any order, without an id, garbage, or a full message with a time of its own. */
export const handMade = (kind: number, id: string, hubId: string, nowUs: number): string => {
  const end = `"task":"once:1.0","args":[],"result_queue":"${replyKey(hubId)}"}`
  const kinds = [
    `{"task":"again:1.0","id":"${id}","result_queue":"${replyKey(hubId)}"}`,
    `{"task":"again:1.0","args":{"id":"${id}"}}`,
    `not JSON "id":"${id}"`,
    `{"id":"${id}","task":"once:1.0","result_queue":"nobody's list"}`,
    `{"at":${nowUs - 2_000_000},"ttl":2000,"id":"${id}",${end}`,
    `{"at":${nowUs - 2_000_000},"ttl":3600000,"id":"${id}",${end}`,
    `{"at":${nowUs},"ttl":0,"id":"${id}","idempotent":true,"task":"again:1.0","args":[],"losses":1}`,
    `{"at":${nowUs},"ttl":0,"id":"${id}","idempotent":true,"task":"again:1.0","args":[],"result_queue":"${replyKey(hubId)}","losses":2}`,
    `{"at":${nowUs},"ttl":0,"id":"${id}","idempotent":true,"task":"again:1.0","args":[],"result_queue":"${replyKey(hubId)}","started":true} `,
  ]
  return kinds[kind % kinds.length]!
}
export const handMadeKinds = 9

/** The test's own name of a request, which each text carries whatever else becomes of it. */
export const nameOf = (text: string): string => {
  const name = /"id":"(r\d+)"/.exec(text)?.[1]
  if (name === undefined) throw new Error(`an element that nobody pushed: ${text}`)
  return name
}

const leadingFields = (text: string) => /^\{"at":(\d+),"ttl":(\d+),"id":"([\w-]+)"/.exec(text)

/** The id it is held under, unless the claim makes one up. */
export const leadingIdOf = (text: string): string | undefined => leadingFields(text)?.[3]

export const heldIdOf = (id: string, isJob: boolean): string => (isJob ? `job:${id}` : id)

/** Where what is held under this id, also by a lost worker, came from. */
export const listOf = (heldId: string): 'calls' | 'jobs' => (/^(lost:)?job:/.test(heldId) ? 'jobs' : 'calls')

/** Microseconds until its deadline; Infinity when it has none that functions can see. */
export const spareUsOf = (text: string, nowUs: number): number => {
  const [, at, ttl] = leadingFields(text) ?? []
  return ttl !== undefined && Number(ttl) > 0 ? Number(at) + Number(ttl) * 1000 - nowUs : Number.POSITIVE_INFINITY
}

interface Fields {
  id?: string
  task?: string
  result_queue?: string
}

/** Undefined for something that is not a request. */
const parse = (text: string): Fields | undefined => {
  try {
    const fields = JSON.parse(text) as Fields
    return fields.result_queue?.startsWith(`${namespace}:reply:{`) === false ? undefined : fields
  } catch {
    return undefined
  }
}

export const taskOf = (text: string): string | undefined => parse(text)?.task

/** Who is to be answered, and with which id. */
export const addressOf = (text: string, heldId: string): { id: string; hubId: string | undefined } => {
  const fields = parse(text)
  return { id: fields?.id ?? heldId, hubId: /\{(.+)\}$/.exec(fields?.result_queue ?? '')?.[1] }
}

/** Whether what is held may be run twice: any job, and a call whose caller said so. */
export const mayRepeat = (heldId: string, text: string): boolean =>
  listOf(heldId) === 'jobs' || /^\{"at":\d+,"ttl":\d+,"id":"[\w-]+","idempotent":true,/.test(text)

const mark = /,"(?:losses":(\d+)|started":true)\}\s*$/

/** With a mark in the place of the one that it has; undefined for what does not end as a message does. */
export const withMark = (text: string, next: string): string | undefined =>
  /\}\s*$/.test(text) ? `${text.replace(mark, '}').trimEnd().slice(0, -1)},${next}}` : undefined

export const lossesOf = (text: string): number => Number(mark.exec(text)?.[1] ?? 0)

/** What becomes of a request that its worker died with: it goes, is put back, is dead, or is held to be answered. */
export type Fate = { list: 'toAnswer' | 'redelivered' | 'dead'; text: string } | 'garbage' | 'over'

/** PROTOCOL.md, 10.7. */
export const fateOf = (heldId: string, text: string, nowUs: number): Fate => {
  if (heldId.startsWith('lost:')) return { list: 'toAnswer', text }
  const losses = lossesOf(text) + 1
  const counted = withMark(text, `"losses":${losses}`)
  if (counted === undefined) return 'garbage'
  if (listOf(heldId) === 'calls' && spareUsOf(text, nowUs) <= 0) return 'over'
  if (mayRepeat(heldId, text) && losses < 3) return { list: 'redelivered', text: counted }
  return listOf(heldId) === 'jobs' ? { list: 'dead', text: asDead(counted) } : { list: 'toAnswer', text: counted }
}

/** A dead job without its beginning, which its failure is noted in. */
export const asDead = (text: string): string =>
  text.replace(
    /^\{"at":\d+,"ttl":\d+,"id":"[\w-]+",("job":\{"tries":1,"errors":\[\{[^}]*"WorkerLost"[^}]*\}\]\},)?/,
    '{',
  )

/** A reply as the model knows it: those of the test's own making to the byte, errors by id and code. */
export const shortReply = (text: string): string => {
  const reply = JSON.parse(text) as { id: string; ok: boolean; error?: { code: string } }
  return reply.ok ? text : `${reply.id} ${reply.error?.code}`
}
