// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import Fastify from 'fastify'
import { Hub } from 'pshub'
import { callOptionsOf, problemOf } from 'pshub/http'

const app = Fastify({ logger: true })

// One for the process: all requests share it. Fastify closes it when requests under way are answered.
const hub = new Hub({ name: 'fastify' })
app.addHook('onClose', () => hub.close())

app.get('/shipping/:country', request => {
  const { grams } = request.query
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  // A visitor who leaves gives the call up; one who says how long they wait is answered by then.
  return hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000 }))
})

app.setErrorHandler((error, request, reply) => {
  const problem = problemOf(error)
  // What is no HubError is a mistake in this code, or in the request, and left to Fastify.
  if (!problem) return reply.send(error)
  if (problem.status >= 500) request.log.error(error)
  return reply.code(problem.status).headers(problem.headers).send(problem.body)
})

const leave = () => {
  app.close()
  // No call takes longer than two seconds; what is still open then is a connection on which nobody has asked anything.
  setTimeout(() => app.server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
await app.listen({ port: Number(process.env.PORT ?? 3000) })
