import type { FastifyInstance } from 'fastify'
import { ConfigError, type Hub } from 'pshub'
import type { PauseAnswer } from '../contract.ts'
import { identityOf } from './access.ts'
import { addressOf } from './limits.ts'
import { Refusal } from './refusal.ts'

interface QueueRequest {
  Params: { queue: string }
}

const admin = { config: { registryAccess: 'admin' as const } }

/** What changes a queue. Both may be repeated without harm. */
export const queueRoutes = async (app: FastifyInstance, { hub }: { hub: Hub }): Promise<void> => {
  const audit = app.log.level === 'silent' ? app.log : app.log.child({ audit: 'queue' }, { level: 'info' })

  app.post<QueueRequest>('/api/queues/:queue/pause', admin, async (request): Promise<PauseAnswer> => {
    const { queue } = request.params
    const pausedMs = await named(() => hub.pause(queue))
    const { role, key } = identityOf(request)
    audit.info({ who: `${role}:${key}`, address: addressOf(request), queue }, 'queue paused')
    return { queue, pausedMs }
  })

  app.post<QueueRequest>('/api/queues/:queue/resume', admin, async (request): Promise<PauseAnswer> => {
    const { queue } = request.params
    await named(() => hub.resume(queue))
    const { role, key } = identityOf(request)
    audit.info({ who: `${role}:${key}`, address: addressOf(request), queue }, 'queue resumed')
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
