import type { FastifyInstance } from 'fastify'
import { ConfigError, type Hub } from 'pshub'
import type { PauseAnswer } from '../contract.ts'
import { auditOf } from './audit.ts'
import { Refusal } from './refusal.ts'

interface QueueRequest {
  Params: { queue: string }
}

const admin = { config: { registryAccess: 'admin' as const } }

/** What changes a queue. Both may be repeated without harm. */
export const queueRoutes = async (app: FastifyInstance, { hub }: { hub: Hub }): Promise<void> => {
  const audit = auditOf(app, 'queue')

  app.post<QueueRequest>('/api/queues/:queue/pause', admin, async (request): Promise<PauseAnswer> => {
    const { queue } = request.params
    const pausedMs = await named(() => hub.pause(queue))
    audit(request, 'queue paused', { queue })
    return { queue, pausedMs }
  })

  app.post<QueueRequest>('/api/queues/:queue/resume', admin, async (request): Promise<PauseAnswer> => {
    const { queue } = request.params
    await named(() => hub.resume(queue))
    audit(request, 'queue resumed', { queue })
    return { queue }
  })
}

/** A name that no queue can have is the request's fault. */
const named = async <T>(change: () => Promise<T>): Promise<T> => {
  try {
    return await change()
  } catch (error) {
    if (error instanceof ConfigError) throw new Refusal(400, 'BadRequest', error.message)
    throw error
  }
}
