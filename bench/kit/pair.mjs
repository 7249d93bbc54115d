// A caller and a worker of one system with what is between them: one thing to be measured.
import { systems } from '../systems/index.mjs'
import { startMember } from './members.mjs'
import { cpuUsOf, startBetween } from './servers.mjs'

const file = 'bench/kit/process.mjs'

export class Pair {
  constructor(system, server, workers, callers) {
    this.system = system
    this.server = server
    this.workers = workers
    this.callers = callers
  }

  /**
   * @param {string} system
   * @param {{ slots?: number, bytes?: number, workers?: number, callers?: number, worker?: object, caller?: object,
   *   profileDir?: string }} [options] `worker` and `caller` are what these sides alone are told
   */
  static async start(system, options = {}) {
    const { slots = 64, bytes = 20, workers = 1, callers = 1, worker = {}, caller = {}, profileDir } = options
    const server = await startBetween(systems[system].between)
    const common = { url: server.url, slots, bytes }
    const side = async (role, more) =>
      startMember(file, [role, system, JSON.stringify({ ...common, ...more })], { profileDir })
    const started = []
    for (let n = 0; n < workers; n++) started.push(await side('worker', worker))
    const { address } = started[0].ready
    const called = []
    for (let n = 0; n < callers; n++) called.push(await side('caller', { address, ...caller }))
    const members = list => list.map(({ member }) => member)
    return new Pair(system, server, members(started), members(called))
  }

  /** One load, shared out among the callers, and what it cost in all processes; it ends after so many calls of each, if these are told. */
  async load(inFlight, ms, most) {
    const cpuBefore = await this.#cpu()
    const each = Math.max(1, Math.round(inFlight / this.callers.length))
    const ask = { what: 'load', inFlight: each, ms, calls: most }
    const sides = await Promise.all(this.callers.map(caller => caller.ask(ask)))
    const cpuAfter = await this.#cpu()
    const calls = sides.reduce((sum, side) => sum + side.calls, 0)
    const perCall = (before, after) => (before === undefined ? undefined : (after - before) / calls)
    return {
      system: this.system,
      inFlight,
      calls,
      lost: sides.reduce((sum, side) => sum + side.lost, 0),
      failed: sides.reduce((sum, side) => sum + side.failed, 0),
      callsPerSecond: sides.reduce((sum, side) => sum + side.callsPerSecond, 0),
      p50Us: Math.max(...sides.map(({ p50Us }) => p50Us)),
      p99Us: Math.max(...sides.map(({ p99Us }) => p99Us)),
      p999Us: Math.max(...sides.map(({ p999Us }) => p999Us)),
      callerCpuUs: sides.reduce((sum, side) => sum + side.cpuUs, 0) / calls,
      workerCpuUs: perCall(cpuBefore.workers, cpuAfter.workers),
      serverCpuUs: perCall(cpuBefore.server, cpuAfter.server),
    }
  }

  async stop() {
    await Promise.all(this.callers.map(member => member.stop()))
    await Promise.all(this.workers.map(member => member.stop()))
    await this.server.stop()
  }

  async #cpu() {
    const workers = await Promise.all(this.workers.map(worker => worker.ask({ what: 'cpu' })))
    return {
      workers: workers.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
      server: this.server.pid === undefined ? undefined : cpuUsOf(this.server.pid),
    }
  }
}

/**
 * Runs `measure` with each of several pairs in turn, round after round, so that what else the machine does meets all of them; there
 * and back, so that none always comes behind the same one.
 * @returns samples in the order they were taken
 */
export const interleaved = async (pairs, rounds, measure) => {
  const samples = []
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? pairs : [...pairs].reverse()
    for (const pair of order) samples.push(...[await measure(pair, round)].flat())
  }
  return samples
}
