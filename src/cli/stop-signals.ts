import { readFileSync } from 'node:fs'
import { type StopSignal, signalCodes } from './exit-codes.ts'

/** One Ctrl-C can arrive twice: from the terminal, and passed on by npm. */
const samePressMs = 250
/** How often it is looked whether the npm that runs this is still there. */
const lookMs = 500

/**
 * Calls `first` for the first SIGINT or SIGTERM and `second` for another one. Returns the end of it. A SIGTERM for npx or npm ends the
 * shell in between and does not reach what it runs: there, that the shell is gone counts as the signal. A script that has put this into the
 * background and ends looks the same, and `first` is told that it may have been that.
 */
export const onStopSignals = (
  first: (signal: StopSignal, isParentGone: boolean) => void,
  second: (signal: StopSignal) => void,
) => {
  let firstAt: number | undefined
  const listener = (signal: NodeJS.Signals) => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      first(signal as StopSignal, false)
    } else if (performance.now() - firstAt > samePressMs) second(signal as StopSignal)
  }
  const signals = Object.keys(signalCodes) as StopSignal[]
  for (const signal of signals) process.on(signal, listener)
  const endOfLooking = onRunnerGone(() => {
    if (firstAt !== undefined) return
    firstAt = performance.now()
    first('SIGTERM', true)
  })
  return () => {
    endOfLooking()
    for (const signal of signals) process.off(signal, listener)
  }
}

/** Started with setsid, as what is to outlive its script is. Only Linux tells. */
const leadsSession = (): boolean => {
  try {
    // Behind the name, which may hold anything: state, parent, group, session.
    const [, , , session] = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ')
    return Number(session) === process.pid
  } catch {
    return false
  }
}

/** Of a process that neither npm nor one like it runs, parents may go: it may be meant to outlive a terminal. */
const onRunnerGone = (act: () => void): (() => void) => {
  if (process.env.npm_command === undefined && process.env.npm_execpath === undefined) return () => undefined
  if (leadsSession()) return () => undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, lookMs).unref()
  return () => clearInterval(timer)
}
