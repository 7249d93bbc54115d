// A Redis of the measurement's own, and what it says of itself.
import { Redis } from 'ioredis'
import { startServer } from '../../tools/redis-server.mjs'

/** What a server says of its memory, bytes, and of its processor time. */
export const figuresOf = redis => {
  const field = async (section, name) =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await redis.info(section))[1])
  return {
    memory: () => field('memory', 'used_memory'),
    cpuMs: async () => 1000 * ((await field('cpu', 'used_cpu_user')) + (await field('cpu', 'used_cpu_sys'))),
  }
}

export const openServer = async () => {
  const server = await startServer()
  const redis = new Redis(server.url)
  return {
    url: server.url,
    redis,
    ...figuresOf(redis),
    stop: async () => {
      redis.disconnect()
      await server.stop()
    },
  }
}
