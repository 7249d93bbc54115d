// Keeps a redis-server for as long as the demo that started this process lives.
import { startServer } from '../../../tools/redis-server.mjs'

const server = await startServer()
process.once('disconnect', async () => {
  await server.stop()
  process.exit(0)
})
process.send(server.url)
