// NATS request and reply. noAsyncTraces leaves out the stack each request would record, which costs a third of the calls.
import { connect, JSONCodec } from 'nats'

const codec = JSONCodec()

export const startWorker = async ({ url }) => {
  const connection = await connect({ servers: url, noAsyncTraces: true })
  connection.subscribe('blank', {
    callback: (_, message) => {
      message.respond(codec.encode({ ok: true, result: codec.decode(message.data) }))
    },
  })
  await connection.flush()
  return { close: () => connection.close() }
}

export const startCaller = async ({ url, args }) => {
  const connection = await connect({ servers: url, noAsyncTraces: true })
  const call = async () => {
    const reply = await connection.request('blank', codec.encode(args), { timeout: 20_000 })
    return codec.decode(reply.data).result
  }
  return { call, close: () => connection.close() }
}
