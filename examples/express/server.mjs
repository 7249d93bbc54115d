// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import express from 'express'
import { Hub, HubError } from 'pshub'

// One for the process: all requests share it.
const hub = new Hub({ name: 'express' })
const app = express()

app.get('/shipping/:country', async (request, response) => {
  const visitor = new AbortController()
  // A visitor who leaves gives the call up; once the answer is sent this means nothing.
  response.on('close', () => visitor.abort())
  const { grams } = request.query
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  response.json(await hub.call('shipping_cost:1.0', args, { timeoutMs: 2000, signal: visitor.signal }))
})

// Express 5 comes here with what an async handler throws. What is no HubError is a mistake in this code, and left to Express.
app.use((error, _request, response, next) => {
  if (!(error instanceof HubError) || response.headersSent) return next(error)
  const { code, message, status, retryable, data } = error
  if (retryable) response.set('retry-after', String(secondsToWait(data)))
  response.status(status).json({ code, message, data })
})

/** Some errors say how long it takes until a further try may be worth it, in milliseconds. */
const secondsToWait = data => Math.max(1, Math.ceil((data?.retryAfterMs ?? data?.waitMs ?? 0) / 1000))

const server = app.listen(Number(process.env.PORT ?? 3000), () => console.log(`listening on ${server.address().port}`))

// Requests under way are answered before the hub is closed.
const leave = () => {
  server.close(() => hub.close())
  // No call takes longer than two seconds; what is still open then is a connection on which nobody has asked anything.
  setTimeout(() => server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
