// What must hold of jobs with a key: none lost, one at a time, and each after those that were enqueued before it.

/**
 * @param acknowledged with the shard into which each went
 * @param events of the journal: `start` with key, number and token, `end` of what ran well, `stop` of what ran to any end
 * @param isBack whether a job was given up, and may have been tried again since, behind others
 * @param isStrict Redis forgot nothing
 * @param mayOverlap processes are stopped or blocked for longer than a lease: what they ran then was given to others
 */
export const checkKeys = ({ events, acknowledged, isBack, hasEnded, isStrict, mayOverlap, fail }) => {
  const stopped = new Map(events.filter(({ e }) => e === 'stop').map(({ run, at }) => [run, at]))
  const byKey = new Map()
  const places = new Map()
  let moves = 0
  for (const { id, queue, place: shard, key, n } of acknowledged) {
    const place = `${queue} ${key}`
    if ((places.get(place) ?? shard) !== shard) moves++
    places.set(place, shard)
    if (!hasEnded(id)) fail('lost job of a key', place, n, id)
  }
  for (const event of events) {
    if (event.e !== 'start' || event.key === undefined) continue
    const place = `${/^([qr])/.exec(event.run)?.[1] ?? ''} ${event.key}`
    byKey.set(place, [...(byKey.get(place) ?? []), event])
  }
  let runs = 0
  let fenced = 0
  for (const [place, starts] of byKey) {
    // A token tells which of two runs came later, whatever the clocks of their processes say.
    starts.sort((a, b) => a.fence - b.fence)
    runs += starts.length
    for (const [at, start] of starts.entries()) {
      const before = starts[at - 1]
      if (before === undefined) continue
      if (before.fence === start.fence) fail('token given twice', place, start.fence)
      // One that is dead made way, and came back behind others if somebody had it tried again.
      if (isStrict && start.n < before.n && !isBack(start.id))
        fail('out of order', place, `${before.n} before ${start.n}`)
      const end = stopped.get(before.run)
      if (end === undefined || end <= start.at + clockMs) continue
      if (mayOverlap) fenced++
      else fail('two at a time', place, `${before.run} until ${end}, ${start.run} since ${start.at}`)
    }
  }
  return { runs, keys: byKey.size, fenced, moves }
}

/** Two processes read one clock, in whole milliseconds. */
const clockMs = 1
