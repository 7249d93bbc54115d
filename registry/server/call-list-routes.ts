import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FailureOverview, SlowCallOverview, UnansweredOverview } from 'pshub'
import { type CallList, longestPhase } from '../contract.ts'
import { rightsOf } from './access.ts'
import { callList, callsAsked, textOfFailure, textOfSlowCall, textOfUnanswered } from './call-list.ts'
import type { Readings } from './readings.ts'

export interface CallListParts {
  readings: Readings
  slowCalls(): Promise<SlowCallOverview[]>
  failures(): Promise<FailureOverview[]>
}

/** Of tasks that whoever asks may see: there are no others, in figures neither. */
const seen = <Call extends { task: string }>(request: FastifyRequest, calls: Call[]): Call[] => {
  const { seesAll, sees } = rightsOf(request)
  return seesAll ? calls : calls.filter(({ task }) => sees(task))
}

const view = { config: { registryAccess: 'view' as const } }

/** Calls of all tasks that took long or did not end well: never all of them in one answer. */
export const callListRoutes = (app: FastifyInstance, { readings, slowCalls, failures }: CallListParts): void => {
  app.get('/api/slow', view, async (request): Promise<CallList<SlowCallOverview>> => {
    const asked = callsAsked(request.query, ['task', 'code', 'phase'])
    const isOfPhase = (call: SlowCallOverview) => asked.phase === undefined || longestPhase(call) === asked.phase
    return callList(seen(request, await slowCalls()), asked, textOfSlowCall, { isOfPhase })
  })
  app.get('/api/failures', view, async (request): Promise<CallList<FailureOverview>> => {
    const asked = callsAsked(request.query, ['task', 'code'])
    return callList(seen(request, await failures()), asked, textOfFailure)
  })
  app.get('/api/unanswered', view, async (request): Promise<CallList<UnansweredOverview>> => {
    const asked = callsAsked(request.query, ['task', 'code'])
    return callList(seen(request, (await readings.latest()).overview.unanswered), asked, textOfUnanswered, {
      timesOf: ({ count }) => count,
    })
  })
}
