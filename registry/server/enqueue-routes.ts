import type { FastifyInstance } from 'fastify'
import type { EnqueueOptions, Hub } from 'pshub'
import type { EnqueueAnswer } from '../job-contract.ts'
import { identityOf, rightsOf } from './access.ts'
import { auditOf } from './audit.ts'
import { exactArgs } from './body.ts'
import { hashOf } from './call-routes.ts'
import { Fields } from './fields.ts'
import type { Limits } from './limits.ts'
import { notToBeRun } from './rules.ts'

export interface EnqueueRoutesOptions {
  hub: Hub
  limits: Limits
}

interface EnqueueRequest {
  Params: { '*': string }
}

const optionNames = [
  'queue',
  'delayMs',
  'atMs',
  'retries',
  'key',
  'score',
  'priority',
  'expiresMs',
  'unique',
  'tracked',
  'keepResultMs',
] as const

/** `POST api/enqueue/<task>`: a job is in Redis when it is answered. */
export const enqueueRoutes = async (app: FastifyInstance, options: EnqueueRoutesOptions): Promise<void> => {
  const { hub, limits } = options
  const audit = auditOf(app, 'enqueue')
  app.post<EnqueueRequest>(
    '/api/enqueue/*',
    {
      config: { registryAccess: 'run' },
      // Before the body is read.
      onRequest: request => limits.runs.count(request, identityOf(request).key),
    },
    async (request): Promise<EnqueueAnswer> => {
      const task = request.params['*']
      if (!rightsOf(request).runs(task)) throw notToBeRun(task)
      const fields = new Fields(request.body, ['args', 'options'])
      const args = fields.has('args') ? exactArgs(request) : {}
      const job = await hub.enqueue(task, args, optionsOf(new Fields(fields.any('options'), optionNames)))
      const { id, queue, isTwin } = job
      audit(request, 'job enqueued', { task: job.task, argsHash: hashOf(args), queue, id, isTwin })
      return { id, queue, task: job.task, isTwin }
    },
  )
}

/** What each of them may be the hub says. */
const optionsOf = (fields: Fields): EnqueueOptions => {
  const { atMs, ...others } = Object.fromEntries(
    optionNames.filter(name => fields.has(name)).map(name => [name, fields.any(name)]),
  )
  return { ...others, ...(atMs === undefined ? {} : { at: atMs as number }) }
}
