// HTTP/1.1 with kept connections: fastify answers, undici asks.
import fastify from 'fastify'
import { Pool } from 'undici'

const maxConnections = 256

export const startWorker = async () => {
  const app = fastify({ bodyLimit: 4_000_000 })
  app.post('/blank', async request => ({ ok: true, result: request.body }))
  return { address: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

export const startCaller = async ({ address, args }) => {
  const pool = new Pool(address, { connections: maxConnections })
  const headers = { 'content-type': 'application/json' }
  const call = async () => {
    const { body } = await pool.request({ path: '/blank', method: 'POST', headers, body: JSON.stringify(args) })
    return (await body.json()).result
  }
  return { call, close: () => pool.destroy() }
}
