// What one Redis did between two moments, by its own account.

/** A section of INFO as numbers and texts by their names. */
const sectionOf = async (redis, section) =>
  Object.fromEntries(
    [...(await redis.info(section)).matchAll(/^([^#:\r\n]+):([^\r\n]*)/gm)].map(([, name, value]) => [name, value]),
  )

export const readGauge = async redis => {
  const [cpu, stats, memory, commands] = await Promise.all(
    ['cpu', 'stats', 'memory', 'commandstats'].map(each => sectionOf(redis, each)),
  )
  const byCommand = Object.entries(commands).map(([name, text]) => {
    const [, calls, us] = /calls=(\d+),usec=(\d+)/.exec(text)
    return [name.replace(/^cmdstat_/, ''), { calls: Number(calls), us: Number(us) }]
  })
  return {
    at: performance.now(),
    cpuS: Number(cpu.used_cpu_user) + Number(cpu.used_cpu_sys),
    bytesIn: Number(stats.total_net_input_bytes),
    bytesOut: Number(stats.total_net_output_bytes),
    commands: Number(stats.total_commands_processed),
    memory: Number(memory.used_memory),
    byCommand: Object.fromEntries(byCommand),
  }
}

/** All of it per second, and the share of one core. */
export const between = (before, after) => {
  const seconds = (after.at - before.at) / 1000
  const rate = name => (after[name] - before[name]) / seconds
  const byCommand = Object.entries(after.byCommand)
    .map(([name, { calls, us }]) => {
      const { calls: callsBefore = 0, us: usBefore = 0 } = before.byCommand[name] ?? {}
      return { name, perSecond: (calls - callsBefore) / seconds, share: (us - usBefore) / seconds / 1e6 }
    })
    .filter(({ perSecond, name }) => perSecond > 0 && name !== 'info')
    .sort((a, b) => b.share - a.share)
  return {
    cpu: rate('cpuS'),
    bytesIn: rate('bytesIn'),
    bytesOut: rate('bytesOut'),
    commands: rate('commands'),
    byCommand,
  }
}
