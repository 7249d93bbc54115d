// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import express from 'express'
import { Hub } from 'pshub'
import { callOptionsOf, sendProblem } from 'pshub/http'

// One for the process: all requests share it.
const hub = new Hub({ name: 'express' })
const app = express()

app.get('/shipping/:country', async (request, response) => {
  const { grams } = request.query
  // What is no number goes as it came, for the schema of the task to refuse.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  // A visitor who leaves gives the call up; one who says how long they wait is answered by then.
  response.json(await hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000, response })))
})

// Express 5 comes here with what an async handler throws. What is no HubError is a mistake in this code, and left to Express.
app.use((error, _request, response, next) => {
  if (!sendProblem(response, error)) return next(error)
  if (error.status >= 500) console.error(error)
})

const server = app.listen(Number(process.env.PORT ?? 3000), () => console.log(`listening on ${server.address().port}`))
// Requests under way are answered before the hub is closed.
server.once('close', () => hub.close())

const leave = () => {
  server.close()
  // No call takes longer than two seconds; what is still open then is a connection on which nobody has asked anything.
  setTimeout(() => server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
