// gRPC unary calls with @grpc/grpc-js. Messages are JSON, so that all systems encode the same way.
import grpc from '@grpc/grpc-js'

const encode = value => Buffer.from(JSON.stringify(value))
const decode = bytes => JSON.parse(bytes.toString())
const service = {
  blank: {
    path: '/bench/blank',
    requestStream: false,
    responseStream: false,
    requestSerialize: encode,
    requestDeserialize: decode,
    responseSerialize: encode,
    responseDeserialize: decode,
  },
}
const limits = { 'grpc.max_receive_message_length': 4_000_000 }

export const startWorker = async () => {
  const server = new grpc.Server(limits)
  server.addService(service, { blank: ({ request }, reply) => reply(null, { ok: true, result: request }) })
  const port = await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() }
}

export const startCaller = async ({ address, args }) => {
  const Client = grpc.makeGenericClientConstructor(service, 'bench')
  const client = new Client(address, grpc.credentials.createInsecure(), limits)
  const call = () =>
    new Promise((resolve, reject) =>
      client.blank(args, (error, reply) => (error ? reject(error) : resolve(reply.result))),
    )
  return { call, close: () => client.close() }
}
