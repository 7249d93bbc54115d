// One side of the measurement of streams: a worker of pshub, or a server of @grpc/grpc-js, that yields `count` chunks of 100 bytes.
const chunk = { text: 'x'.repeat(89) }

const startPshub = async () => {
  const { defineTask, Worker } = await import('../../dist/index.js')
  const blank = defineTask('blank:1.0', {}, () => chunk)
  const chunks = defineTask('chunks:1.0', { timeoutMs: 60_000 }, async function* ({ count }) {
    for (let n = 0; n < count; n++) yield chunk
  })
  const worker = new Worker({ redis: process.env.REDIS, tasks: [blank, chunks], logLevel: 'silent' })
  await worker.start()
  return 'pshub'
}

const startGrpc = async () => {
  const { default: grpc } = await import('@grpc/grpc-js')
  const { service } = await import('./grpc-service.mjs')
  const server = new grpc.Server()
  server.addService(service, {
    blank: (_, reply) => reply(null, chunk),
    chunks: async call => {
      for (let n = 0; n < call.request.count; n++)
        if (!call.write(chunk)) await new Promise(resolve => call.once('drain', resolve))
      call.end()
    },
  })
  const bound = (resolve, reject) => (error, port) => (error ? reject(error) : resolve(port))
  const credentials = grpc.ServerCredentials.createInsecure()
  const port = await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, bound(resolve, reject)),
  )
  return `127.0.0.1:${port}`
}

process.send({ address: await (process.argv[2] === 'pshub' ? startPshub() : startGrpc()) })
process.once('disconnect', () => process.exit())
