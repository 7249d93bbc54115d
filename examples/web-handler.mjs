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

const server = createServer(async (request, response) => {
  const visitor = new AbortController()
  response.on('close', () => visitor.abort())
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams
  // Texts that are no number stay texts, for the schema of the task to refuse.
  const args = Object.fromEntries(
    [...query].map(([name, text]) => [name, text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)]),
  )
  response.setHeader('content-type', 'application/json')
  try {
    const result = await hub.call('divide:1.0', args, { timeoutMs: 500, signal: visitor.signal })
    response.writeHead(200).end(`${JSON.stringify(result)}\n`)
  } catch (error) {
    if (!(error instanceof HubError)) {
      // What else goes wrong here is not the visitor's to know.
      response.writeHead(500).end('{"message":"Something went wrong here."}\n')
      return
    }
    const { code, message, status, retryable, data } = error
    if (retryable) response.setHeader('retry-after', '1')
    response.writeHead(status).end(`${JSON.stringify({ code, message, data })}\n`)
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
