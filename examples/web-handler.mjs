// A web handler that awaits a task: with a time limit, given up when the visitor leaves, and with each way of failing
// as the HTTP status that fits it.
//   PSHUB_REDIS=redis://127.0.0.1:6379 node examples/web-handler.mjs
//   curl 'localhost:3080/?a=6&b=3'              200 {"quotient":2}
//   curl 'localhost:3080/?a=6&b=x'              400 InvalidArgs: the schema of the task says no
//   curl 'localhost:3080/?a=6&b=0'              500 TaskFailed: the handler threw
//   curl 'localhost:3080/?a=6&b=3&delayMs=900'  504 Timeout: later than the 500 ms this page waits
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask, Hub, HubError, TaskError, Worker } from 'pshub'

const divide = defineTask(
  'divide:1.0',
  {
    description: 'Divides a by b.',
    args: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' }, delayMs: { type: 'integer', maximum: 5000 } },
      required: ['a', 'b'],
    },
    idempotent: true,
  },
  async ({ a, b, delayMs = 0 }, { signal }) => {
    await sleep(delayMs, undefined, { signal })
    if (b === 0) throw new TaskError('Nothing can be divided by zero.')
    return { quotient: a / b }
  },
)

// In earnest the worker is a process of its own; here it shares this one, so that the file runs alone.
const worker = new Worker({ queue: 'arithmetic', tasks: [divide] })
const hub = new Hub({ name: 'web handler' })

/** Texts that are no number stay texts, for the schema of the task to refuse. */
const numberOr = text => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text))

const reply = (response, status, body, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`)

const server = createServer(async (request, response) => {
  const visitor = new AbortController()
  response.on('close', () => visitor.abort())
  const query = new URL(request.url, 'http://localhost').searchParams
  const args = Object.fromEntries([...query].map(([name, text]) => [name, numberOr(text)]))
  try {
    reply(response, 200, await hub.call('divide:1.0', args, { timeoutMs: 500, signal: visitor.signal }))
  } catch (error) {
    if (!(error instanceof HubError)) return reply(response, 500, { message: 'Something went wrong here.' })
    const { code, message, status, retryable, data } = error
    reply(response, status, { code, message, ...(data && { data }) }, retryable ? { 'retry-after': '1' } : {})
  }
})

await worker.start()
server.listen(3080, '127.0.0.1', () => console.log('http://127.0.0.1:3080/?a=6&b=3'))

process.once('SIGINT', async () => {
  server.close()
  server.closeAllConnections()
  await hub.close()
  await worker.stop()
})
