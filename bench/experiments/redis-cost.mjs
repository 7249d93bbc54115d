import { Redis } from 'ioredis'
import { Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'redis-cost'
export const title =
  'What a call costs in Redis: commands (those inside scripts too), script runs, bytes, processor time'

const loads = [1, 64]

/** Counters of one moment. Commands that scripts run are counted by Redis under their own names. */
const countersOf = async redis => {
  const [stats, commandStats] = [await redis.info('stats'), await redis.info('commandstats')]
  const number = field => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  let commands = 0
  let scripts = 0
  for (const [, command, calls] of commandStats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (/^(evalsha|eval|fcall)/.test(command)) scripts += Number(calls)
    commands += Number(calls)
  }
  return { commands, scripts, bytesIn: number('total_net_input_bytes'), bytesOut: number('total_net_output_bytes') }
}

export const run = async ({ names, ms }) => {
  const rows = []
  for (const system of names.filter(each => systems[each].between === 'redis')) {
    const pair = await Pair.start(system)
    const redis = new Redis(pair.server.url)
    try {
      await pair.load(64, 500)
      for (const inFlight of loads) {
        const before = await countersOf(redis)
        const { calls, serverCpuUs } = await pair.load(inFlight, Math.max(ms, 1000))
        const after = await countersOf(redis)
        const perCall = field => ((after[field] - before[field]) / calls).toFixed(2)
        rows.push({
          system: systems[system].title,
          'in flight': inFlight,
          'commands/call': perCall('commands'),
          'scripts/call': perCall('scripts'),
          'bytes in/call': Math.round(perCall('bytesIn')),
          'bytes out/call': Math.round(perCall('bytesOut')),
          'CPU us/call': serverCpuUs === undefined ? '-' : serverCpuUs.toFixed(1),
        })
      }
    } finally {
      redis.disconnect()
      await pair.stop()
    }
  }
  return { rows }
}
