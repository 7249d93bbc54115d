// The floor: the same work over bare ioredis lists, BLMPOP COUNT on both sides, nothing tracked, nothing checked. What
// is in flight when a socket breaks is lost, and nobody notices.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'

const requests = 'floor:requests'
const count = 256

const readLoop = async (redis, key, slots, onMessages) => {
  const client = new Redis(redis)
  let open = true
  const loop = (async () => {
    while (open) {
      const answer = await client.blmpop(1, 1, key, 'LEFT', 'COUNT', slots).catch(() => null)
      if (answer) onMessages(answer[1])
    }
  })()
  return async () => {
    open = false
    client.disconnect()
    await loop
  }
}

export const startWorker = async (redis, slots) => {
  const replies = new Redis(redis)
  const stop = await readLoop(redis, requests, slots, messages => {
    for (const text of messages) {
      const { id, args, result_queue } = JSON.parse(text)
      replies.rpush(result_queue, JSON.stringify({ id, ok: true, result: { x: args.x } }))
    }
  })
  return async () => {
    await stop()
    replies.disconnect()
  }
}

export const startCaller = async redis => {
  const commands = new Redis(redis)
  const inbox = `floor:reply:${randomUUID()}`
  const pending = new Map()
  let next = 0
  const stop = await readLoop(redis, inbox, count, messages => {
    for (const text of messages) {
      const { id, result } = JSON.parse(text)
      pending.get(id)(result)
      pending.delete(id)
    }
  })
  return {
    call: () =>
      new Promise(resolve => {
        const id = String(next++)
        pending.set(id, resolve)
        commands.rpush(requests, JSON.stringify({ id, task: 'blank:1.0', args: { x: next }, result_queue: inbox }))
      }),
    close: async () => {
      await stop()
      commands.disconnect()
    },
  }
}
