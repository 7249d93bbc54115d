import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that speaks HTTP, for those who take it for a Redis. */
export const startListener = async (): Promise<{ port: number; close(): Promise<void> }> => {
  const server = createServer((_, response) => response.end('no Redis'))
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(closed => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
