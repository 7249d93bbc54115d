import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { identityOf } from './access.ts'
import { addressOf } from './limits.ts'

/** Writes who did what. Said whatever the level of the log is, unless that is silent. */
export type Audit = (request: FastifyRequest, message: string, details: object) => void

/** `kind`: what such lines are found by. */
export const auditOf = (app: FastifyInstance, kind: string): Audit => {
  const log: FastifyBaseLogger =
    app.log.level === 'silent' ? app.log : app.log.child({ audit: kind }, { level: 'info' })
  return (request, message, details) => log.info({ ...whoOf(request), ...details }, message)
}

const whoOf = (request: FastifyRequest): { who: string; address: string } => {
  const { role, key } = identityOf(request)
  return { who: `${role}:${key}`, address: addressOf(request) }
}
