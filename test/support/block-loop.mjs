// Blocks the event loop of this process, as code that computes does, without taking the core from all others.
const never = new Int32Array(new SharedArrayBuffer(4))

/** @param {number} ms */
export const blockLoop = ms => {
  Atomics.wait(never, 0, 0, ms)
}
