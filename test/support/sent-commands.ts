import type { Command, Redis } from 'ioredis'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'

/** What the code sends for one operation of the queue `<queue>`. */
export const sentBy = async (operate: (queue: Queue, client: Redis) => Promise<unknown>) => {
  let sent: string[] = []
  // A full Redis refuses plain replies, which then go by their function.
  const sendCommand = async ({ name, args }: Command) => {
    if (name !== 'fcall') throw Object.assign(new Error('OOM'), { name: 'ReplyError' })
    sent = args.slice(1).map(String)
    return []
  }
  const client = { sendCommand }
  await operate(new Queue('<queue>', makeKeys('pshub')), client as unknown as Redis).catch(() => undefined)
  const keyCount = Number(sent[0])
  return { keys: sent.slice(1, keyCount + 1), args: sent.slice(keyCount + 1) }
}

/** Of the same queue. */
export const jobQueue = () => new JobQueue('<queue>', makeKeys('pshub'))
