import { maxDead, type Queue } from '../queue/queue.ts'
import { command, type Redis } from '../redis/client.ts'

/** Keeps jobs that are given up. Repeating it is harmless. Returns how many older ones had to go for them. */
export const bury = async (client: Redis, queue: Queue, texts: string[], atMs: number): Promise<number> => {
  const { dead } = queue.keys
  const [, gone] = await Promise.all([
    command(client, 'zadd', dead, ...texts.flatMap(text => [Math.floor(atMs), text])),
    command(client, 'zremrangebyrank', dead, 0, -maxDead - 1),
  ])
  return gone as number
}
