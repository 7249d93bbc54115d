// Tasks for workers in processes of their own. They tell on stdout what starts and ends.
import { defineTask } from '../../dist/index.js'
import { blockLoop } from './block-loop.mjs'

const say = line => process.stdout.write(`${line}\n`)

const waiting = async ({ n, ms }, ctx) => {
  say(`start ${n}`)
  await new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    ctx.signal.addEventListener('abort', () => {
      clearTimeout(timer)
      say(`aborted ${n} ${ctx.signal.reason.code}`)
      resolve()
    })
  })
  say(`end ${n}`)
  return { n, pid: process.pid }
}

export const once = defineTask('once:1.0', { timeoutMs: 20_000 }, waiting)
export const again = defineTask('again:1.0', { timeoutMs: 20_000, idempotent: true }, waiting)
/** Blocks the event loop, from its first instruction or after a wait. */
export const block = defineTask('block:1.0', { timeoutMs: 60_000 }, ({ ms, afterMs }) => {
  const blockNow = () => {
    say('blocking')
    blockLoop(ms)
    say('unblocked')
    return 'done'
  }
  return afterMs === undefined ? blockNow() : new Promise(resolve => setTimeout(resolve, afterMs)).then(blockNow)
})
