// Preloaded into a process (node --import): its wall clock is wrong from the beginning, or jumps while it runs.
const shiftMs = Number(process.env.PSHUB_SHIFT_MS)
const afterMs = Number(process.env.PSHUB_SHIFT_AFTER_MS)
const { now } = Date
const shifted = () => now() + (performance.now() >= afterMs ? shiftMs : 0)

globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(shifted())
    else super(...args)
  }

  static now() {
    return shifted()
  }
}
