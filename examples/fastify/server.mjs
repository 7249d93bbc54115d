// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import Fastify from 'fastify'
import { Hub } from 'pshub'
import { callOptionsOf, problemOf } from 'pshub/http'

const app = Fastify({ logger: true })

// One hub per process: all requests share it. Fastify closes it after the last response.
const hub = new Hub({ name: 'fastify' })
app.addHook('onClose', () => hub.close())

app.get('/shipping/:country', request => {
  const { grams } = request.query
  // Anything but a number is passed on, for the task's schema to reject.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  // A visitor who leaves cancels the call; `pshub-timeout-ms` shortens it.
  return hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000 }))
})

app.setErrorHandler((error, request, reply) => {
  const problem = problemOf(error)
  // Errors that are not from a call are left to Fastify.
  if (!problem) return reply.send(error)
  if (problem.status >= 500) request.log.error(error)
  return reply.code(problem.status).headers(problem.headers).send(problem.body)
})

const leave = () => {
  app.close()
  // No call takes longer than two seconds: connections that are still open then are idle.
  setTimeout(() => app.server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
await app.listen({ port: Number(process.env.PORT ?? 3000) })
