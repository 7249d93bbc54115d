// Looks at Redis from beside, five times a second: backlog, what workers hold, leases.
import { setTimeout as sleep } from 'node:timers/promises'

const everyMs = 200
const base = 'pshub:{q}'

const look = async redis => {
  const [backlog, leases] = await Promise.all([
    redis.llen(`${base}:calls`).catch(() => 0),
    redis.zrange(`${base}:leases`, 0, -1),
  ])
  const held = {}
  let adopted = 0
  for (const id of leases) {
    const ids = await redis.hkeys(`${base}:held:${id}`)
    const own = ids.filter(field => !field.startsWith('lost:')).length
    if (own > 0) held[id] = own
    adopted += ids.length - own
  }
  return { backlog, held, adopted, workers: leases.length }
}

/** @returns {{ stop(): Promise<void>, last(): object }} */
export const startSampling = stage => {
  let ended = false
  let last = {}
  const run = async () => {
    while (!ended) {
      const late = sleep(1000).then(() => undefined)
      const at = performance.now()
      const sample = await Promise.race([look(stage.redis).catch(() => undefined), late])
      last = { at, ...sample }
      stage.journal('sample', sample ?? { away: true })
      await sleep(everyMs)
    }
  }
  const done = run()
  return {
    last: () => last,
    async stop() {
      ended = true
      await done
    },
  }
}
