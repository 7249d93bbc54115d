import { type StopSignal, signalCodes } from './exit-codes.ts'

/** One Ctrl-C can arrive twice: from the terminal, and passed on by npm. */
const samePressMs = 250
/** How often it is looked whether the npm that runs this is still there. */
const lookMs = 500

/**
 * Calls `first` for the first SIGINT or SIGTERM and `second` for another one. Returns the end of it. A SIGTERM for npx or npm ends the
 * shell in between and does not reach what it runs: there, that the shell is gone counts as the signal.
 */
export const onStopSignals = (first: (signal: StopSignal) => void, second: (signal: StopSignal) => void) => {
  let firstAt: number | undefined
  const listener = (signal: NodeJS.Signals) => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      first(signal as StopSignal)
    } else if (performance.now() - firstAt > samePressMs) second(signal as StopSignal)
  }
  const signals = Object.keys(signalCodes) as StopSignal[]
  for (const signal of signals) process.on(signal, listener)
  const endOfLooking = onRunnerGone(() => firstAt === undefined && listener('SIGTERM'))
  return () => {
    endOfLooking()
    for (const signal of signals) process.off(signal, listener)
  }
}

/** Of a process that neither npm nor one like it runs, parents may go: it may be meant to outlive a terminal. */
const onRunnerGone = (act: () => void): (() => void) => {
  if (process.env.npm_command === undefined && process.env.npm_execpath === undefined) return () => undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, lookMs).unref()
  return () => clearInterval(timer)
}
