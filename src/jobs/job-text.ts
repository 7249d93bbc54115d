import { jobPartText } from '../wire/job-part.ts'
import { canonicalText } from '../wire/payload.ts'

/*
 * Jobs as texts that lie in Redis already: made into others without decoding and encoding their arguments again.
 */

/** A job's text in parts; undefined for one that does not begin as those do that were enqueued. */
const split = (
  text: string,
): { at: string; ttl: string; id: string; part: string | undefined; rest: string } | undefined => {
  const head = /^\{"at":(\d+),"ttl":(\d+),("id":"[\w-]+",)(?:"job":(?=\{))?/.exec(text)
  if (!head) return undefined
  const [begin, at, ttl, id] = head as unknown as [string, string, string, string]
  const from = begin.length
  if (!begin.endsWith('"job":')) return { at, ttl, id, part: undefined, rest: text.slice(from) }
  const behind = endOfValue(text, from)
  return { at, ttl, id, part: text.slice(from, behind), rest: text.slice(behind + 1) }
}

const joined = (ttlMs: number, id: string, part: string | undefined, rest: string): string =>
  `"ttl":${ttlMs},${id}${part === undefined ? '' : `"job":${part},`}${rest}`

const withoutBrace = (text: string): string => text.replace(/^\s*\{/, '')

/** A dead job as it is enqueued again: wanted for ever, its tries counted anew, its failures still there. */
export const revivedMessage = (dead: string, args?: string): string => {
  const parts = split(dead)
  // What was buried has such a beginning; what somebody else put there goes as it is.
  if (!parts) return withoutBrace(dead)
  const part = parts.part?.replace(/^\{"tries":\d+/, '{"tries":0')
  let rest = parts.rest.replace(/,"losses":\d+\}$/, '}')
  const before = args === undefined ? undefined : /^"task":"(?:[^"\\]|\\.)*","args":/.exec(rest)?.[0]
  const own = part?.includes('"merged":true') && args !== undefined ? canonicalText(args) : args
  if (before !== undefined) rest = before + own + rest.slice(endOfValue(rest, before.length))
  return joined(0, parts.id, part, rest)
}

/** A job that waits for its time or its next try, as it is taken at once: its tries and failures stay, and it is wanted for as long as then. */
export const hastenedMessage = (lying: string): string => {
  const parts = split(lying)
  if (!parts) return withoutBrace(lying)
  const { ttl, id, part, rest } = parts
  return joined(Number(ttl), id, part && withoutTimes(part), rest)
}

/**
 * A job that was claimed, as it is put into another shard at `nowUs`: due at once, without the token that the claim gave it.
 */
export const movedMessage = (claimed: string, nowUs: number): string => {
  const parts = split(claimed)
  if (!parts) return withoutBrace(claimed)
  const { at, ttl, id, part, rest } = parts
  const leftMs = ttl === '0' ? 0 : Math.max(1, Math.floor(Number(ttl) - (nowUs - Number(at)) / 1000))
  return joined(leftMs, id, part && withoutTimes(part), rest)
}

/** What a job carries, but for when it was to begin, and the token of its run. No text in there has a brace or a bracket of its own. */
const withoutTimes = (part: string): string => {
  const { delay, due, fence, ...kept } = JSON.parse(part) as Record<string, unknown>
  return delay === undefined && due === undefined && fence === undefined ? part : jobPartText(kept)
}

/** The arguments of a message exactly as they are written there; undefined where it has none, or is no JSON object. */
export const argsTextOf = (message: string): string | undefined => {
  let found: string | undefined
  let at = /^\s*\{\s*/.exec(message)?.[0].length ?? message.length
  for (;;) {
    const name = /"((?:[^"\\]|\\.)*)"\s*:\s*/y
    name.lastIndex = at
    const member = name.exec(message)
    if (!member) return found
    const end = endOfValue(message, name.lastIndex)
    // Of two with the same name the last one counts, as for whoever parses it.
    if (JSON.parse(`"${member[1]}"`) === 'args') found = message.slice(name.lastIndex, end).trim()
    const comma = /\s*,\s*/y
    comma.lastIndex = end
    at = comma.test(message) ? comma.lastIndex : message.length
  }
}

/** Where a value that begins there ends, in text that is JSON. */
const endOfValue = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') {
      for (at++; text[at] !== '"' && at < text.length; at++) if (text[at] === '\\') at++
    } else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return at
      depth--
    } else if (char === ',' && depth === 0) return at
    if (depth === 0 && (char === '}' || char === ']')) return at + 1
  }
  return text.length
}
