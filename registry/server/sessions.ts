import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Hub } from 'pshub'
import { type Role, roles } from '../contract.ts'
import { isUserName } from './proxy-users.ts'
import { Refusal } from './refusal.ts'
import type { Rules } from './rules.ts'
import { type Identity, keyOf, type TokenBook, type User } from './tokens.ts'

export const sessionMs = 12 * 3600_000
/** So long another registry's log-out may take to be noticed here, and no longer is Redis asked for each request. */
const recheckMs = 5000
/** Bytes of what is kept of one. */
const maxRecord = 1000
/** Sessions that this process remembers; beyond, those that came first are asked for again. */
const maxKnown = 10_000

interface Found extends Identity {
  session: string
  untilMs: number
}

interface Known extends Found {
  checkedMs: number
  /** Whether Redis has it; else it ends with this process. */
  isKept: boolean
}

/**
 * Who is logged in. A session is a random text that its browser has; Redis has its digest, with the role, the end, and a proof made of the
 * session and its token. Whoever reads Redis can neither use sessions nor search for tokens there; whoever writes it cannot make one without
 * the token; of somebody whom a provider knows the proof is made with the registry's secret at that provider. So they outlive a restart, hold for all registries on this Redis, and end when their token changes, or that secret, or the rules of who may do what. While Redis is away, those
 * that were seen go on.
 */
export class Sessions {
  readonly #tokens: TokenBook
  readonly #store: Hub['sessions']
  readonly #rules: Rules
  /** What sessions of users are proved with; undefined: there is no provider. */
  readonly #secret: string | undefined
  readonly #log: FastifyBaseLogger
  readonly #known = new Map<string, Known>()
  /** Log-outs that Redis has not been told of, with the ends of their sessions. */
  readonly #untold = new Map<string, number>()
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #timer: NodeJS.Timeout
  #isWarned = false

  constructor(
    { tokens, rules, secret }: { tokens: TokenBook; rules: Rules; secret: string | undefined },
    store: Hub['sessions'],
    log: FastifyBaseLogger,
  ) {
    this.#tokens = tokens
    this.#rules = rules
    this.#secret = secret
    this.#store = store
    this.#log = log
    this.#timer = setInterval(() => void this.#tell(), recheckMs)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Of somebody who showed a token. Returns what their browser is to keep. */
  async start(role: Role, nowMs: number): Promise<string> {
    const [session, untilMs] = [newSession(), nowMs + sessionMs]
    const proof = proofOf(session, this.#tokens.of(role)!)
    return this.#keep(this.#identity(session, role, untilMs), JSON.stringify({ role, untilMs, proof }), nowMs)
  }

  /** The same of somebody whom the provider knows. Of their groups those are kept that the rules name. @throws Refusal when these are too many */
  async startOf({ name, groups }: User, role: Role, nowMs: number): Promise<string> {
    const [session, untilMs] = [newSession(), nowMs + sessionMs]
    const user = { name, groups: groups.filter(group => this.#rules.namesGroup(group)) }
    const proof = proofOf(session, this.#said(user, untilMs))
    const record = JSON.stringify({ user: user.name, groups: user.groups, untilMs, proof })
    if (Buffer.byteLength(record) > maxRecord)
      throw new Refusal(
        403,
        'Forbidden',
        'You are in more groups than a session can hold. Ask the administrator to use fewer groups in the rules.',
      )
    return this.#keep(this.#identityOf(session, user, role, untilMs), record, nowMs)
  }

  async #keep(identity: Found, record: string, nowMs: number): Promise<string> {
    const { session } = identity
    let isKept = true
    try {
      await this.#store.write(nameOf(session), record, sessionMs)
    } catch (error) {
      isKept = false
      this.#warn(error as Error)
    }
    this.#note(identity, nowMs, isKept)
    return session
  }

  /**
   * Whose session it is; undefined: nobody's, or it is over.
   * @throws Refusal when only Redis knows, and cannot be asked
   */
  async find(session: string, nowMs: number): Promise<Identity | undefined> {
    if (!/^[\w-]{43}$/.test(session) || this.#untold.has(session)) return undefined
    const known = this.#known.get(session)
    if (known && known.untilMs <= nowMs) return this.#drop(session)
    if (known && (!known.isKept || nowMs - known.checkedMs < recheckMs)) return known
    let text: string | undefined
    try {
      text = await this.#store.read(nameOf(session))
    } catch (error) {
      if (known) return known
      this.#warn(error as Error)
      throw new Refusal(
        503,
        'Unavailable',
        'Redis is unreachable, so this session cannot be checked. Try again soon.',
        {
          'retry-after': '5',
        },
      )
    }
    // It may have been ended while Redis was asked.
    if (this.#untold.has(session)) return undefined
    const found = this.#read(session, text)
    if (!found || found.untilMs! <= nowMs) return this.#drop(session)
    return this.#note(found, nowMs, true)
  }

  /** The session is over, also for whoever has a copy of it. Resolves with whether Redis knows; if not, it is told later. */
  async end(session: string, untilMs: number): Promise<boolean> {
    this.#untold.set(session, untilMs)
    this.#drop(session)
    await this.#tell()
    return !this.#untold.has(session)
  }

  /** Calls back once the session is over, as far as this process knows; the function that is returned ends that. */
  watch(session: string, onEnd: () => void): () => void {
    const watchers = this.#watchers.get(session) ?? new Set()
    this.#watchers.set(session, watchers.add(onEnd))
    const timer = setInterval(async () => {
      const identity = await this.find(session, Date.now()).catch(() => true)
      if (!identity) onEnd()
    }, recheckMs)
    timer.unref()
    return () => {
      clearInterval(timer)
      watchers.delete(onEnd)
      if (watchers.size === 0) this.#watchers.delete(session)
    }
  }

  async #tell(): Promise<void> {
    for (const [session, untilMs] of this.#untold) {
      try {
        if (untilMs > Date.now()) await this.#store.remove(nameOf(session))
        this.#untold.delete(session)
      } catch {
        return
      }
    }
  }

  #identity(session: string, role: Role, untilMs: number): Found {
    return { role, tokenRole: role, key: keyOf(session), token: keyOf(this.#tokens.of(role)!), session, untilMs }
  }

  #identityOf(session: string, user: User, role: Role, untilMs: number): Found {
    return { role, key: keyOf(session), token: keyOf(`user ${user.name}`), user, by: 'provider', session, untilMs }
  }

  /** All that a session of a user is for: with other rules it would be another one. */
  #said({ name, groups }: User, untilMs: number): string {
    return JSON.stringify([this.#secret, this.#rules.said, name, groups, untilMs])
  }

  /** What Redis has may be anything. */
  #read(session: string, text: string | undefined): Found | undefined {
    try {
      const record = JSON.parse(text ?? 'null') as Record<string, unknown>
      return record.user === undefined ? this.#readToken(session, record) : this.#readUser(session, record)
    } catch {
      return undefined
    }
  }

  #readToken(session: string, { role, untilMs, proof }: Record<string, unknown>): Found | undefined {
    const token = roles.includes(role as Role) ? this.#tokens.of(role as Role) : undefined
    if (token === undefined || typeof untilMs !== 'number') return undefined
    return isProof(proof, session, token) ? this.#identity(session, role as Role, untilMs) : undefined
  }

  #readUser(session: string, { user: name, groups, untilMs, proof }: Record<string, unknown>): Found | undefined {
    if (this.#secret === undefined || !isUserName(name) || typeof untilMs !== 'number') return undefined
    if (!Array.isArray(groups) || !groups.every(isUserName)) return undefined
    const user: User = { name, groups }
    const role = this.#rules.roleOf(user)
    if (!role || !isProof(proof, session, this.#said(user, untilMs))) return undefined
    return this.#identityOf(session, user, role, untilMs)
  }

  #note(identity: Found, checkedMs: number, isKept: boolean): Known {
    const known = { ...identity, checkedMs, isKept }
    this.#known.delete(known.session)
    this.#known.set(known.session, known)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value!)
    return known
  }

  #drop(session: string): undefined {
    this.#known.delete(session)
    for (const onEnd of [...(this.#watchers.get(session) ?? [])]) onEnd()
  }

  #warn(error: Error): void {
    if (this.#isWarned) return
    this.#isWarned = true
    const why = `${error.message} To see which rights its user lacks: pshub check --for registry`
    this.#log.warn(`sessions cannot be saved in Redis and will end with this process: ${why}`)
  }
}

const newSession = (): string => randomBytes(32).toString('base64url')
const nameOf = (session: string): string => createHash('sha256').update(session).digest('base64url')
const proofOf = (session: string, secret: string): string =>
  createHmac('sha256', session).update(secret).digest('base64url')

const isProof = (proof: unknown, session: string, secret: string): boolean => {
  if (typeof proof !== 'string') return false
  const [given, wanted] = [Buffer.from(proof), Buffer.from(proofOf(session, secret))]
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
