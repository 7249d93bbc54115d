import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { onFreePort, startServer } from '../../tools/redis-server.mjs'

it('a server takes another port where somebody was quicker, unless it was told which', async () => {
  const quicker = createServer()
  onTestFinished(() => void quicker.close())
  const server = await onFreePort(async (port: number) => {
    if (!quicker.listening) await once(quicker.listen(port, '127.0.0.1'), 'listening')
    return await startServer({ port })
  })
  onTestFinished(() => server.stop())
  const { port } = quicker.address() as AddressInfo
  expect(server.port).not.toBe(port)
  await expect(startServer({ port })).rejects.toThrow(/Address already in use/)
})
