// Calls over plain lists, as both floors make them; they differ in how they push.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'

const requests = 'floor:requests'
const count = 256

const readLoop = async (url, key, slots, onMessages) => {
  const client = new Redis(url)
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

export const makeWorker = async ({ url, slots }, pusher) => {
  const stop = await readLoop(url, requests, slots, messages => {
    for (const text of messages) {
      const { id, args, result_queue } = JSON.parse(text)
      pusher.push(result_queue, JSON.stringify({ id, ok: true, result: args }))
    }
  })
  const close = async () => {
    await stop()
    pusher.close()
  }
  return { close }
}

export const makeCaller = async ({ url, args }, pusher) => {
  const inbox = `floor:reply:${randomUUID()}`
  const pending = new Map()
  let next = 0
  const stop = await readLoop(url, inbox, count, messages => {
    for (const text of messages) {
      const { id, result } = JSON.parse(text)
      pending.get(id)(result)
      pending.delete(id)
    }
  })
  const call = () =>
    new Promise(resolve => {
      const id = String(next++)
      pending.set(id, resolve)
      pusher.push(requests, JSON.stringify({ id, task: 'blank:1.0', args, result_queue: inbox }))
    })
  const close = async () => {
    await stop()
    pusher.close()
  }
  return { call, close }
}
