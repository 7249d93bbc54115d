// A web server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import express from 'express'
import { Hub } from 'pshub'
import { callOptionsOf, sendProblem } from 'pshub/http'

// One hub per process: all requests share it.
const hub = new Hub({ name: 'express' })
const app = express()

app.get('/shipping/:country', async (request, response) => {
  const { grams } = request.query
  // Anything but a number is passed on, for the task's schema to reject.
  const args = { country: request.params.country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
  // A visitor who leaves cancels the call; `pshub-timeout-ms` shortens it.
  response.json(await hub.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000, response })))
})

// Express 5 passes on what an async handler throws. Errors that are not from a call are left to Express.
app.use((error, _request, response, next) => {
  if (!sendProblem(response, error)) return next(error)
  if (error.status >= 500) console.error(error)
})

const server = app.listen(Number(process.env.PORT ?? 3000), () => console.log(`listening on ${server.address().port}`))
// Close the hub after the last response.
server.once('close', () => hub.close())

const leave = () => {
  server.close()
  // No call takes longer than two seconds: connections that are still open then are idle.
  setTimeout(() => server.closeAllConnections(), 2500).unref()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave)
