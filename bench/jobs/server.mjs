// A Redis of the measurement's own, and what it says of itself.
import { Redis } from 'ioredis'
import { startServer } from '../../tools/redis-server.mjs'

export const openServer = async () => {
  const server = await startServer()
  const redis = new Redis(server.url)
  const field = async (section, name) =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await redis.info(section))[1])
  return {
    url: server.url,
    redis,
    memory: () => field('memory', 'used_memory'),
    cpuMs: async () => 1000 * ((await field('cpu', 'used_cpu_user')) + (await field('cpu', 'used_cpu_sys'))),
    stop: async () => {
      redis.disconnect()
      await server.stop()
    },
  }
}
