// How long the machine kept the processes of a trial waiting for a processor: what is allowed in seconds is prolonged by that.
import { readFileSync } from 'node:fs'

const everyMs = 100
/** At most this share of any time counts as lost. A product that recovers five times too late is seen on the busiest machine. */
const mostShare = 0.8

const textOf = path => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Milliseconds for which a process was ready to run and had no processor, since it began; undefined where the system does not tell. */
const waitedMs = pid => {
  const [, waitedNs] = textOf(`/proc/${pid}/schedstat`).split(' ')
  return waitedNs === undefined ? undefined : Number(waitedNs) / 1e6
}

/** Milliseconds per processor that the host of a virtual machine took away, in hundredths of a second. */
const stolenMs = () => {
  const lines = textOf('/proc/stat').split('\n')
  const processors = lines.filter(line => /^cpu\d/.test(line)).length
  const stolen = Number(lines[0].split(/\s+/)[8] ?? 0)
  return processors > 0 ? (stolen * 10) / processors : 0
}

const lostOf = ({ from, to, ms }) => Math.min(ms, (mostShare * (to - from)) / 1000)

/**
 * Milliseconds of a time, in microseconds, that count as lost.
 * @param {{ stalls: { from: number, to: number, ms: number }[] }} history
 */
export const stalledMs = ({ stalls }, from, to) => {
  let sum = 0
  for (const stall of stalls) {
    const us = Math.min(stall.to, to) - Math.max(stall.from, from)
    if (us > 0) sum += (lostOf(stall) * us) / (stall.to - stall.from)
  }
  return sum
}

/**
 * Looks ten times a second.
 * @param pids of the processes that a call passes through
 * @param note is told each stall: `ms` of waiting, added up over the processes, since `from` (microseconds)
 */
export const watchStalls = (pids, nowUs, note) => {
  let last = nowUs()
  let stolen = stolenMs()
  const before = new Map()
  const watch = { totalMs: 0, stop: () => clearInterval(timer) }
  const look = () => {
    const from = last
    last = nowUs()
    const nowStolen = stolenMs()
    let ms = nowStolen - stolen
    stolen = nowStolen
    for (const pid of [process.pid, ...pids()]) {
      const waited = waitedMs(pid)
      // Of a process that is new here it is not known when it waited.
      if (waited !== undefined) ms += waited - (before.get(pid) ?? waited)
      before.set(pid, waited)
    }
    // Elsewhere only this process itself shows whether the machine is busy.
    if (waitedMs(process.pid) === undefined) ms = (last - from) / 1000 - everyMs
    if (ms < 1) return
    watch.totalMs += lostOf({ from, to: last, ms })
    note({ from, ms: Math.round(ms) })
  }
  const timer = setInterval(look, everyMs)
  return watch
}
