// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import Fastify from 'fastify'
import { Hub, HubError } from 'pshub'

const app = Fastify({ logger: true })

// One for the process: all requests share it. Fastify closes it when requests under way are answered.
const hub = new Hub({ name: 'fastify' })
app.addHook('onClose', () => hub.close())

app.get('/shipping/:country', request => {
  const { grams } = request.query
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  // A visitor who leaves gives the call up.
  return hub.call('shipping_cost:1.0', args, { timeoutMs: 2000, signal: request.signal })
})

app.setErrorHandler((error, _request, reply) => {
  // What is no HubError is a mistake in this code, or in the request, and left to Fastify.
  if (!(error instanceof HubError)) return reply.send(error)
  const { code, message, status, retryable, data } = error
  if (retryable) reply.header('retry-after', secondsToWait(data))
  return reply.code(status).send({ code, message, data })
})

/** Some errors say how long it takes until a further try may be worth it, in milliseconds. */
const secondsToWait = data => Math.max(1, Math.ceil((data?.retryAfterMs ?? data?.waitMs ?? 0) / 1000))

const leave = () => {
  app.close()
  // No call takes longer than two seconds; what is still open then is a connection on which nobody has asked anything.
  setTimeout(() => app.server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
await app.listen({ port: Number(process.env.PORT ?? 3000) })
