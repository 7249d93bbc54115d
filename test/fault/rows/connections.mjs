// Faults of the wire between Redis and callers or workers.

/** Ids of the connections that carry this name: pshub-hub-blocking, pshub-worker-commands and so on. */
export const clientsNamed = async (redis, name) =>
  String(await redis.client('LIST'))
    .split('\n')
    .filter(line => line.includes(` name=${name}`))
    .map(line => /id=(\d+)/.exec(line)[1])

export const killClients = async (redis, name) => {
  const ids = await clientsNamed(redis, name)
  await Promise.all(ids.map(id => redis.client('KILL', 'ID', id)))
  return ids.length
}

export const connectionRows = [
  {
    id: 'F01',
    title: "callers' blocking sockets killed 5 times a second",
    inject: stage => stage.repeat(200, () => killClients(stage.redis, 'pshub-hub-blocking')),
    expect: { promised: 'all', reconnectsPerSecond: 8 },
  },
]
