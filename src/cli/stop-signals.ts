import { type StopSignal, signalCodes } from './exit-codes.ts'

/** One Ctrl-C can arrive twice: from the terminal, and passed on by npm. */
const samePressMs = 250

/** Calls `first` for the first SIGINT or SIGTERM and `second` for another one. Returns the end of it. */
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
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}
