import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from './refusal.ts'

/** Counts requests of one sender in a window of time. */
interface Limit {
  /** Counts one more. Throws a Refusal when it is one too many. */
  count(request: FastifyRequest, sender: string): Promise<void>
  /** Throws a Refusal when the next one would be. */
  check(request: FastifyRequest, sender: string): Promise<void>
}

export interface Limits {
  /** Of one address, whatever it asks for. */
  requests: Limit
  /** Tokens of one address that were wrong. */
  wrongTokens: Limit
  /** Runs of one session or token. */
  runs: Limit
  /** Which right tokens an address showed. */
  rightTokens: RightTokens
  /** Runs of one token that have begun and not ended. */
  underWay: UnderWay
}

/** Whoever has one IPv6 address has 2^64 of them. */
export const addressOf = ({ ip }: FastifyRequest): string => normalizeIP(ip, 64)

export const makeLimits = async (app: FastifyInstance, maxRunsPerSecond: number): Promise<Limits> => {
  // A server that we are mounted in may have it already; then its store serves us too.
  if (!app.hasDecorator('createRateLimit')) await app.register(rateLimit, { global: false })
  return {
    requests: makeLimit(app, 'requests', 1000 + 20 * maxRunsPerSecond, 10_000),
    wrongTokens: makeLimit(app, 'wrong tokens', 10, 60_000),
    runs: makeLimit(app, 'runs', maxRunsPerSecond, 1000),
    rightTokens: new RightTokens(),
    underWay: new UnderWay(10 * maxRunsPerSecond),
  }
}

/** More are forgotten, those that came first. */
const maxKnown = 10_000

class RightTokens {
  readonly #known = new Set<string>()

  has(address: string, token: string): boolean {
    return this.#known.has(`${address} ${token}`)
  }

  add(address: string, token: string): void {
    this.#known.add(`${address} ${token}`)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value!)
  }
}

/** Each run holds its arguments and a connection until it ends, which may be ten minutes. */
class UnderWay {
  readonly #most: number
  readonly #counts = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns what is to be called at the end. Throws a Refusal when there are too many. */
  enter(token: string): () => void {
    const before = this.#counts.get(token) ?? 0
    if (before >= this.#most)
      throw new Refusal(
        429,
        'TooManyRequests',
        `${before} runs of this token are in flight; wait until some have ended.`,
        {
          'retry-after': '1',
        },
      )
    this.#counts.set(token, before + 1)
    return () => {
      const now = this.#counts.get(token)! - 1
      if (now > 0) this.#counts.set(token, now)
      else this.#counts.delete(token)
    }
  }
}

const makeLimit = (app: FastifyInstance, name: string, max: number, windowMs: number): Limit => {
  const senders = new WeakMap<object, string>()
  const state = app.createRateLimit({
    max,
    timeWindow: windowMs,
    allowList: [],
    keyGenerator: request => `pshub registry ${app.prefix} ${name} ${senders.get(request)}`,
  })
  const ask = async (request: FastifyRequest, sender: string, increment: boolean): Promise<void> => {
    senders.set(request, sender)
    const seen = await state(request, { increment })
    if (seen.isAllowed || !(increment ? seen.isExceeded : seen.remaining === 0)) return
    const seconds = String(Math.max(1, seen.ttlInSeconds))
    throw new Refusal(429, 'TooManyRequests', `Too many ${name}; retry in ${seconds} s.`, {
      'retry-after': seconds,
    })
  }
  return {
    count: (request, sender) => ask(request, sender, true),
    check: (request, sender) => ask(request, sender, false),
  }
}
