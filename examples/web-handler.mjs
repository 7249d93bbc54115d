// A web handler that awaits a task: with a time limit, given up when the visitor leaves, and with each way of failing
// as the HTTP status that fits it.
//   PSHUB_REDIS=redis://127.0.0.1:6379 node examples/web-handler.mjs
//   curl 'localhost:3080/?a=6&b=3'              200 {"quotient":2}
//   curl 'localhost:3080/?a=6&b=x'              400 InvalidArgs: the schema of the task says no
//   curl 'localhost:3080/?a=6&b=0'              500 TaskFailed: the handler threw
//   curl 'localhost:3080/?a=6&b=3&delayMs=900'  504 Timeout: later than the 500 ms this page waits
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask, Hub, TaskError, Worker } from 'pshub'
import { callOptionsOf, sendProblem } from 'pshub/http'

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
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams
  // Texts that are no number stay texts, for the schema of the task to refuse.
  const args = Object.fromEntries(
    [...query].map(([name, text]) => [name, text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)]),
  )
  try {
    const result = await hub.call('divide:1.0', args, callOptionsOf(request, { timeoutMs: 500, response }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(result)}\n`)
  } catch (error) {
    // What else goes wrong here is not the visitor's to know.
    if (!sendProblem(response, error)) response.writeHead(500).end('Something went wrong here.\n')
    console.error(error)
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
