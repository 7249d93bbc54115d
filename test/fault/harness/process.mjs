// What caller and worker processes have in common: their settings, their orders, their journal, and their end.
import { setTimeout as sleep } from 'node:timers/promises'
import { openJournal } from './journal.mjs'

/** Given by the stage; see stage.mjs. */
export const setup = JSON.parse(process.env.PSHUB_FAULT_SETUP)
export const journal = openJournal(setup.folder, setup.name)

/** pshub as it is built, or a copy of it with a planted bug. */
export const pshub = await import(`${setup.dist}/unjoined.mjs`)

const lagCheckMs = 20

/** Writes down when this process got no processor: what is late by that is not late by pshub's fault. */
export const watchLag = () => {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const lagMs = now - last - lagCheckMs
    last = now
    if (lagMs > 10) journal('lag', { ms: Math.round(lagMs) })
  }, lagCheckMs)
  return () => clearInterval(timer)
}

const orphaned = () => process.exit(1)
// The stage is gone: nobody would ever end this process.
process.once('disconnect', orphaned)

/** Runs the orders that the stage sends, by name. */
export const onOrders = orders => {
  process.on('message', async ({ id, order, input }) => {
    let output
    try {
      output = await orders[order](input)
    } catch (error) {
      output = { error: String(error?.message ?? error) }
    }
    if (process.connected) process.send({ id, output })
  })
}

/**
 * Ends this process the honest way: nothing is forced, so a timer or socket that pshub left behind keeps it alive, and
 * the stage sees that.
 */
export const leave = async () => {
  // Its own child, which a caller in another language is, ends before it.
  const resources = () => process.getActiveResourcesInfo().filter(kind => !/^(Pipe|TTY|File|Process)/.test(kind))
  // ioredis ends its connections to sentinels in its own time: those to a deaf one after some seconds.
  const hasSentinels = setup.redis.sentinels || /^redis\+sentinel/.test(setup.redis)
  const isEnding = () => hasSentinels && resources().length > 0
  for (let tries = 0; tries < 40 && isEnding(); tries++) await sleep(100)
  journal('left', { resources: resources() })
  process.off('disconnect', orphaned)
  if (process.connected) process.disconnect()
}
