import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type CallOptions, type CallPhases, type Hub, HubError, stringifyExact } from 'pshub'
import { callOptionsOf } from 'pshub/http'
import { identityOf, rightsOf } from './access.ts'
import { auditOf } from './audit.ts'
import { exactBody } from './body.ts'
import { sendStream, streamForm } from './call-stream.ts'
import { type OpenAnswers, toldOfStop } from './last-words.ts'
import type { Limits } from './limits.ts'
import { answerTo, Refusal, sendError } from './refusal.ts'
import { notToBeRun } from './rules.ts'

export interface CallRoutesOptions {
  hub: Hub
  limits: Limits
  open: OpenAnswers
}

interface CallRequest {
  Params: { '*': string }
}

/** The gateway: `POST api/call/<task>` with the arguments as JSON is a call, and its answer the result. */
export const callRoutes = async (app: FastifyInstance, options: CallRoutesOptions): Promise<void> => {
  const { hub, limits, open } = options
  const audit = auditOf(app, 'run')
  app.post<CallRequest>(
    '/api/call/*',
    {
      config: { registryAccess: 'run' },
      // Before the body is read.
      onRequest: request => limits.runs.count(request, identityOf(request).key),
    },
    async (request, reply) => {
      const startedAt = performance.now()
      const stopping = open.add(reply.raw)
      const task = request.params['*']
      const body = exactBody(request)
      const args = body === undefined ? {} : body
      const tell = (code: string) =>
        audit(request, 'task run', { task, argsHash: hashOf(args), code, ms: msSince(startedAt) })
      let leave = () => {}
      try {
        leave = limits.underWay.enter(identityOf(request).token)
        if (!rightsOf(request).runs(task)) throw notToBeRun(task)
        const { phases, ...chosen } = callOptions(request, reply, stopping)
        const form = streamForm(request)
        if (form) {
          await sendStream(hub, {
            task,
            args,
            options: chosen,
            form,
            reply,
            problemOf: error => answerTo(toldOfStop(error, stopping)).body,
          })
          tell('ok')
          return reply
        }
        const answer = await hub.call(task, args, { ...chosen, phases })
        tell('ok')
        return withPhases(reply, answer.phases)
          .type('application/json; charset=utf-8')
          .send(stringifyExact(answer.result ?? null))
      } catch (thrown) {
        const isRefusal = thrown instanceof HubError || thrown instanceof Refusal
        tell(isRefusal ? thrown.code : 'Internal')
        if (!(thrown instanceof HubError)) throw thrown
        return sendCallError(toldOfStop(thrown, stopping) as HubError, request, reply)
      } finally {
        leave()
      }
    },
  )
}

const callOptions = (request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal) => {
  const chosen = callOptionsOf(request, { response: reply.raw })
  const { traceparent, tracestate, 'pshub-queue': queue } = request.headers
  return {
    ...chosen,
    signal: AbortSignal.any([chosen.signal!, stopping]),
    phases: true,
    // What is no name of a queue is refused as any other wrong option.
    ...(queue === undefined ? {} : { queue: String(queue) }),
    ...(typeof traceparent === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent)
      ? { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : undefined }
      : {}),
  } satisfies CallOptions
}

const phaseNames = ['backlog', 'queue', 'exec', 'reply', 'total'] as const

/** Where the time went: for people's browsers, in milliseconds, and as JSON in microseconds. */
const withPhases = (reply: FastifyReply, phases: CallPhases | undefined): FastifyReply => {
  if (!phases) return reply
  const timing = phaseNames.map(name => `${name};dur=${(phases[name] / 1000).toFixed(3)}`).join(', ')
  return reply.header('server-timing', timing).header('pshub-phases', JSON.stringify(phases))
}

const sendCallError = (failure: HubError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  // Its stream has begun, and has told of it.
  if (reply.sent) return reply
  if (failure.id !== undefined) reply.header('pshub-id', failure.id)
  return sendError(failure, request, withPhases(reply, failure.phases))
}

/** Tells equal arguments from others, and nothing of what they are. */
export const hashOf = (body: unknown): string =>
  createHash('sha256')
    .update(stringifyExact(body ?? {}))
    .digest('hex')
    .slice(0, 12)

const msSince = (startedAt: number): number => Math.round(performance.now() - startedAt)
