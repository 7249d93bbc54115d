import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Role } from '../contract.ts'
import { identityIfAny } from './access.ts'
import { addressOf } from './limits.ts'
import { Refusal } from './refusal.ts'
import type { Identity } from './tokens.ts'

/** Writes who did what. Said whatever the level of the log is, unless that is silent. */
export type Audit = (request: FastifyRequest, message: string, details: object) => void

/** `kind`: what such lines are found by. */
export const auditOf = (app: FastifyInstance, kind: string): Audit => {
  const log: FastifyBaseLogger =
    app.log.level === 'silent' ? app.log : app.log.child({ audit: kind }, { level: 'info' })
  return (request, message, details) => log.info({ ...whoOf(request), ...details }, message)
}

/** A user by name, else the role and a key that tells tokens and sessions apart. */
export const whoIs = ({ role, key, user }: Identity): string => (user ? `user:${user.name}` : `${role}:${key}`)

const whoOf = (request: FastifyRequest): { who: string; role?: Role; address: string } => {
  const identity = identityIfAny(request)
  const who = identity ? whoIs(identity) : 'nobody'
  return { who, ...(identity?.user && { role: identity.role }), address: addressOf(request) }
}

/** Refusals that say something of who asks; others are about what was asked. */
const told = new Set([401, 403, 415, 421, 429, 503])
/** Of one kind from one address in a minute: whoever asks a thousand times is not to fill the log. */
const maxLines = 10
const windowMs = 60_000
const maxSenders = 10_000

/** Writes down who was refused, and why. */
export const refusalLog = (app: FastifyInstance): ((request: FastifyRequest, thrown: unknown) => void) => {
  const audit = auditOf(app, 'access')
  const counts = new Map<string, { lines: number; sinceMs: number }>()
  return (request, thrown) => {
    if (!(thrown instanceof Refusal) || !told.has(thrown.status)) return
    const sender = `${addressOf(request)} ${thrown.code}`
    const nowMs = performance.now()
    let count = counts.get(sender)
    if (!count || nowMs - count.sinceMs > windowMs) {
      if (counts.size >= maxSenders) counts.clear()
      counts.set(sender, (count = { lines: 0, sinceMs: nowMs }))
    }
    if (++count.lines > maxLines + 1) return
    // The route and not the address, which may have anything in it.
    const details = {
      code: thrown.code,
      method: request.method,
      route: request.routeOptions?.url,
      reason: thrown.message,
    }
    if (count.lines <= maxLines) audit(request, 'refused', details)
    else audit(request, 'rejected; further requests like it are not logged for a minute', details)
  }
}
