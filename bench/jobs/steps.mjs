// The longest steps in Redis, as it saw them itself.

/** The longest of our commands: microseconds and what it was. */
export const longestSteps = async redis => {
  const entries = await redis.call('SLOWLOG', 'GET', '1000')
  const own = entries.map(([, , us, [command, name]]) => ({ us, what: command === 'fcall' ? name : command }))
  const ours = own.filter(({ what }) => !/^(config|slowlog|info)/i.test(what))
  await redis.call('SLOWLOG', 'RESET')
  return ours.sort((a, b) => b.us - a.us).slice(0, 3)
}

export const shownSteps = found =>
  found.map(({ us, what }) => `${what} ${(us / 1000).toFixed(2)} ms`).join(', ') || 'none above 0.5 ms'
