import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { topics } from '../contract.ts'
import { identityOf, rightsOf } from './access.ts'
import type { HistoryStore } from './history.ts'
import { LiveStream } from './live.ts'
import { queryText } from './query.ts'
import type { Readings } from './readings.ts'
import { Refusal } from './refusal.ts'
import type { Sessions } from './sessions.ts'
import { visible } from './visible.ts'

export interface LiveParts {
  readings: Readings
  history: HistoryStore
  sessions: Sessions
  /** What every page shows at its top. */
  notice: () => string | undefined
}

/** Open pages of one token; there are three at most, so that none takes the place of others. */
const maxStreams = 33
/** A page whose stream ends opens another one, for which it has to be somebody still. */
const maxStreamMs = 15 * 60_000

/** What changes, as it changes: GET api/live. */
export const liveRoutes = async (
  app: FastifyInstance,
  { readings, history, sessions, notice }: LiveParts,
): Promise<void> => {
  const streams = new Map<LiveStream, string>()
  // Before the server waits for its connections to end.
  app.addHook('preClose', async () => {
    await Promise.all([...streams.keys()].map(stream => stream.end()))
  })
  app.get('/api/live', { config: { registryAccess: 'view' }, exposeHeadRoute: false }, (request, reply) => {
    const { token, session } = identityOf(request)
    if ([...streams.values()].filter(each => each === token).length >= maxStreams)
      throw new Refusal(503, 'Unavailable', `${maxStreams} pages of this token are already open; close some.`, {
        'retry-after': '10',
      })
    const asked = queryText(request, 'topics', 100)?.split(',') ?? []
    const wanted = topics.filter(topic => asked.includes(topic))
    const isCompressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    const stream = new LiveStream(
      openStream(reply, isCompressed),
      { topics: wanted.length > 0 ? wanted : topics, trends: history, notice },
      isCompressed,
    )
    streams.set(stream, token)
    // Who is logged out sees nothing more, wherever that was.
    const unwatch = session === undefined ? () => undefined : sessions.watch(session, () => void stream.end())
    const rights = rightsOf(request)
    const leave = readings.watch({
      onReading: reading => stream.onReading(visible(reading, rights)),
      onProblem: message => stream.onProblem(message),
    })
    const ending = setTimeout(() => void stream.end(), lifetimeMs(request))
    ending.unref()
    reply.raw.on('close', () => {
      leave()
      unwatch()
      streams.delete(stream)
      clearTimeout(ending)
    })
  })
}

const lifetimeMs = (request: FastifyRequest): number => {
  const { untilMs = Number.POSITIVE_INFINITY } = identityOf(request)
  return Math.max(0, Math.min(maxStreamMs, untilMs - Date.now()))
}

const openStream = (reply: FastifyReply, isCompressed: boolean) => {
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    vary: 'accept-encoding',
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  })
  return reply.raw
}
