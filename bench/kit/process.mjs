// One side of a measurement in a process of its own: `node bench/kit/process.mjs worker|caller <system> <options as JSON>`.
// It does what its messages say, one after the other, and answers each with what it saw.
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './numbers.mjs'

const [role, system, optionsText] = process.argv.slice(2)
/** Arguments of a call whose JSON has about so many bytes; too many for a command line. */
const argsOf = bytes => ({ x: 1, fill: 'a'.repeat(Math.max(0, bytes - 20)) })

const { bytes = 20, ...given } = JSON.parse(optionsText)
const options = { ...given, args: argsOf(bytes) }
const { startWorker, startCaller } = await import(`../systems/${system}.mjs`)

const microsOf = ({ user, system: kernel }) => user + kernel

/** A system that loses a reply leaves its call waiting for ever; that call counts as lost after so long. */
const patienceMs = 5000

/** Keeps so many calls in flight for so long, or until so many were made. */
const load = async (call, { inFlight, ms, calls = Number.POSITIVE_INFINITY }) => {
  const waits = []
  let failed = 0
  const started = performance.now()
  const cpu = process.cpuUsage()
  const end = started + ms
  let made = 0
  const chain = async () => {
    for (let now = performance.now(); now < end && made < calls; ) {
      made++
      const isOk = await call().then(
        () => true,
        () => false,
      )
      const after = performance.now()
      if (isOk) waits.push(after - now)
      else failed++
      now = after
    }
  }
  let done = 0
  const chains = Array.from({ length: inFlight }, () => chain().then(() => done++))
  await Promise.race([Promise.all(chains), sleep(ms + patienceMs, undefined, { ref: false })])
  const seconds = (done === inFlight ? performance.now() - started : ms) / 1000
  return {
    calls: waits.length,
    lost: inFlight - done,
    failed,
    callsPerSecond: waits.length / seconds,
    p50Us: quantile(waits, 0.5) * 1000,
    p99Us: quantile(waits, 0.99) * 1000,
    p999Us: quantile(waits, 0.999) * 1000,
    cpuUs: microsOf(process.cpuUsage(cpu)),
  }
}

/** As many as one turn of the event loop is given to make: what else is due must get its turns too. */
const callsPerTurn = 500

/** Makes so many calls and answers when all of them were made; their outcomes come later, or never. */
const launch = async (call, { calls }) => {
  for (let made = 1; made <= calls; made++) {
    call().catch(() => undefined)
    if (made % callsPerTurn === 0) await immediate()
  }
  return { calls }
}

const startedAt = performance.now()
const side = role === 'worker' ? await startWorker(options) : await startCaller(options)

const answers = {
  load: message => load(side.call, message),
  launch: message => launch(side.call, message),
  cpu: async () => ({ cpuUs: microsOf(process.cpuUsage()) }),
  first: async () => {
    await side.call()
    return { ms: performance.now() - startedAt, sinceLaunchMs: Date.now() - options.launchedAt }
  },
}

process.on('message', async message => {
  if (message.what === 'stop') {
    await side.close()
    process.disconnect()
    // Profiles are written at the end of the process; handles that a system leaves open must not keep it.
    process.exit(0)
  }
  try {
    process.send(await answers[message.what](message))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.send({ address: side.address })
