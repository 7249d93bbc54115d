import type { Events } from '../figures/events.ts'
import type { Logger } from '../outlets/log.ts'
import type { Settings } from '../settings/read.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import { RedisAway, watchRedis } from './redis-away.ts'
import { onStopSignals } from './stop-signals.ts'

/** After an exception that nothing caught, what runs has this long: the process cannot be trusted any more. */
const faultGraceMs = 2000

/** What serves until it is told to stop: a worker, a forwarder. */
export interface Serving {
  readonly events: Events
  readonly busy: number
  start(): Promise<void>
  stop(options: { graceMs: number }): Promise<void>
}

/** Serves until a signal or a fault. Resolves with the exit code when all has been put back. */
export const serve = async (
  worker: Serving,
  settings: Readonly<Settings>,
  log: Logger,
  setOnFatal: (listener: () => void) => void,
): Promise<number> => {
  let code: number = exitCodes.ok
  let stopping = false
  const awayBecause = watchRedis(worker.events)
  // Behind this turn of the loop: a signal that comes while onStart runs finds somebody who listens.
  const started = Promise.resolve().then(() => worker.start())
  const stopped = new Promise<void>(resolve => {
    const stop = (graceMs: number) => {
      stopping = true
      void worker.stop({ graceMs }).then(resolve)
    }
    onStopSignals(
      (signal, isParentGone) => {
        const { graceMs } = settings
        const how = { busy: worker.busy, graceMs }
        if (isParentGone)
          log.info(how, 'stopping, because the npm script that started it has ended; to outlive the script, use setsid')
        else log.info({ signal, ...how }, 'stopping; running tasks may finish, a second signal stops it at once')
        stop(graceMs)
      },
      signal => {
        log.warn({ signal, busy: worker.busy }, 'stopping at once')
        process.exit(signalCodes[signal])
      },
    )
    setOnFatal(() => {
      code = exitCodes.failed
      stop(Math.min(faultGraceMs, settings.graceMs))
    })
  })
  // What keeps it from starting, onStart for one, keeps it from nothing else.
  await Promise.race([started, stopped])
  const reason = awayBecause()
  if (reason !== undefined && !stopping) log.error(`${new RedisAway(settings.redis, reason).message} Reconnecting.`)
  await stopped
  return code
}
