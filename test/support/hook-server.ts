import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Delivery {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A server that takes webhooks: notes what comes, and answers as the test says. */
export const startHookServer = async (
  answer: (delivery: Delivery, response: ServerResponse, at: number) => void = (_, response) => void response.end(),
) => {
  const deliveries: Delivery[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', chunk => (body += chunk))
    request.on('end', () => {
      const delivery = { path: request.url!, headers: request.headers, body }
      answer(delivery, response, deliveries.push(delivery) - 1)
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    deliveries,
    close: () =>
      new Promise<void>(closed => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
