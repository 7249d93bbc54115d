// Everything that can be measured, and what each needs between its caller and its worker.

/** @type {Record<string, { title: string, between: 'redis' | 'nats' | 'none', about: string }>} */
export const systems = {
  floor: { title: 'list floor', between: 'redis', about: 'bare ioredis lists, one RPUSH per message, nothing tracked' },
  'floor-batched': {
    title: 'batched floor',
    between: 'redis',
    about: 'the same with one RPUSH per tick and list: the ceiling of anything over lists',
  },
  pshub: { title: 'pshub', between: 'redis', about: 'schemas, leases, tracked both ways, figures published' },
  bullmq: { title: 'BullMQ', between: 'redis', about: 'Job.waitUntilFinished' },
  'bee-queue': { title: 'bee-queue', between: 'redis', about: 'its events, with ids of the caller' },
  nats: { title: 'NATS', between: 'nats', about: 'request and reply, without the traces of asynchronous errors' },
  moleculer: { title: 'Moleculer on NATS', between: 'nats', about: 'broker.call over its NATS transporter' },
  grpc: { title: 'gRPC-js', between: 'none', about: 'unary calls, JSON messages' },
  http: {
    title: 'HTTP keep-alive',
    between: 'none',
    about: 'fastify, and undici with as many connections as calls in flight, up to 256',
  },
}

export const peers = ['bullmq', 'bee-queue', 'nats', 'moleculer', 'grpc', 'http']
