import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { delay } from './delay.ts'

const script = readFileSync(join(import.meta.dirname, 'unowned.lua'), 'utf8')
/** What was killed, or given up, is looked after by the next one that beats; here nobody does, and what is under way has come by then. */
const patienceMs = 2000

/** @throws Error that names what lies in a namespace for ever and that nobody owns */
export const ownedByAll = async (redis: Redis, namespace: string): Promise<void> => {
  const end = Date.now() + patienceMs
  for (;;) {
    const wrong = (await redis.eval(script, 0, namespace)) as string[]
    if (wrong.length === 0) return
    if (Date.now() > end) throw new Error(`Nobody owns what is left for ever:\n${wrong.slice(0, 20).join('\n')}`)
    await delay(20, 'the interval between two looks')
  }
}
