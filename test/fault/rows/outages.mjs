// Faults in which Redis itself is away, stands still, or came back without its data.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { unreachable } from './connections.mjs'

/** When it was away for longer than a lease, nobody has one at first; what a worker could not settle is another's. */
const away = [...unreachable, 'NoWorkers', 'WorkerLost']

export const outageRows = [
  {
    id: 'F09',
    title: 'redis stopped for 5 s, then started again',
    faultMs: 5000,
    inject: stage => stage.stopRedis('SIGTERM'),
    heal: stage => stage.startRedis(),
    expect: { allowed: away },
  },
  {
    id: 'F12',
    title: 'no redis when everybody starts, nor for 10 s',
    redisAway: true,
    faultMs: 10_000,
    inject: stage => stage.load({}),
    heal: stage => stage.startRedis(),
    expect: { allowed: [...away, 'NoSuchTask'] },
  },
  {
    id: 'F13',
    title: 'redis killed, back on its append-only file',
    faultMs: 3000,
    inject: stage => stage.stopRedis('SIGKILL'),
    heal: stage => stage.startRedis(),
    expect: { allowed: away },
  },
  {
    id: 'F14',
    title: 'redis killed, back empty',
    faultMs: 2000,
    inject: stage => stage.stopRedis('SIGKILL'),
    heal(stage) {
      rmSync(join(stage.server.dir, 'appendonlydir'), { recursive: true })
      return stage.startRedis()
    },
    // Its workers are told that their leases are gone.
    expect: { allowed: away, falseDeaths: 2 },
  },
  {
    id: 'F15',
    title: 'redis stands still for 5 s (SIGSTOP)',
    faultMs: 5000,
    inject: stage => stage.server.signal('SIGSTOP'),
    heal: stage => stage.server.signal('SIGCONT'),
    expect: { allowed: away },
  },
  {
    id: 'F16',
    title: 'redis sleeps for 3 s (DEBUG SLEEP)',
    faultMs: 3200,
    inject: stage => void stage.redis.call('DEBUG', 'SLEEP', '3').catch(() => undefined),
    expect: { allowed: away },
  },
  {
    id: 'F17',
    title: 'redis killed, then loading its data for seconds',
    faultMs: 4000,
    async inject(stage) {
      await stage.stopRedis('SIGKILL')
      stage.loaded = stage.startRedis(['--key-load-delay', '500'])
    },
    heal: stage => stage.loaded,
    expect: { allowed: away },
  },
  {
    id: 'F18',
    title: 'writes paused for 3 s (CLIENT PAUSE WRITE)',
    faultMs: 3200,
    inject: stage => stage.redis.call('CLIENT', 'PAUSE', '3000', 'WRITE'),
    expect: { allowed: away },
  },
  {
    id: 'F18-all',
    title: 'everything paused for 3 s (CLIENT PAUSE ALL)',
    faultMs: 3200,
    inject: stage => stage.redis.call('CLIENT', 'PAUSE', '3000', 'ALL'),
    expect: { allowed: away },
  },
  {
    id: 'F20',
    title: 'a script that does not end, for 6 s (BUSY)',
    faultMs: 6000,
    async inject(stage) {
      await stage.redis.config('SET', 'busy-reply-threshold', '1000')
      const busy = stage.redis.duplicate()
      busy.on('error', () => undefined)
      await busy.connect()
      void busy.eval('while true do end', 0).catch(() => busy.disconnect())
    },
    heal: stage => stage.redis.script('KILL'),
    expect: { allowed: away },
  },
]
