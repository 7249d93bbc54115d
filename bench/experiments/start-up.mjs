import { startMember } from '../kit/members.mjs'
import { median } from '../kit/numbers.mjs'
import { startBetween } from '../kit/servers.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'start-up'
export const title =
  'From the start of a process to the first reply: a caller whose worker is there, and a worker and a caller'

const file = 'bench/kit/process.mjs'

/** Milliseconds from the start of the caller's process, and from that of the worker's, to the first reply. */
const once = async system => {
  const server = await startBetween(systems[system].between)
  const common = { url: server.url, slots: 4 }
  const bothAt = Date.now()
  const worker = await startMember(file, ['worker', system, JSON.stringify(common)])
  const launchedAt = Date.now()
  const caller = await startMember(file, [
    'caller',
    system,
    JSON.stringify({ ...common, address: worker.ready.address, launchedAt }),
  ])
  const { sinceLaunchMs } = await caller.member.ask({ what: 'first' })
  await caller.member.stop()
  await worker.member.stop()
  await server.stop()
  return { caller: sinceLaunchMs, both: launchedAt - bothAt + sinceLaunchMs }
}

export const run = async ({ names, rounds }) => {
  const times = new Map(names.map(system => [system, []]))
  for (let round = 0; round < rounds; round++) {
    for (const system of names) times.get(system).push(await once(system))
  }
  const rows = names.map(system => ({
    system: systems[system].title,
    'caller, ms': Math.round(median(times.get(system).map(({ caller }) => caller))),
    'worker, then caller, ms': Math.round(median(times.get(system).map(({ both }) => both))),
  }))
  return { rows }
}
