import type { Hub } from '../hub/hub.ts'
import { explained } from '../redis/refusals.ts'
import type { Settings } from '../settings/read.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import type { Invocation } from './command.ts'
import { type StopSignal, signalCodes } from './exit-codes.ts'
import { RedisAway, watchRedis } from './redis-away.ts'
import { report } from './report.ts'
import { onStopSignals } from './stop-signals.ts'

interface HubWork {
  /** Does what the command is for. Resolves with the exit code; the signal fires at Ctrl-C or SIGTERM. */
  work(hub: Hub, interrupt: AbortSignal): Promise<number>
  /** Before a failure is told. */
  onFailure?(error: unknown): void
  /** The command reads, or changes what is there: that Redis refuses it is no call that was not run. */
  isLook?: boolean
}

/** Opens a hub for the time of `work`, and tells how it failed. Resolves with the exit code. */
export const withHub = async (
  settings: Readonly<Settings>,
  { flags, output }: Invocation,
  { work, onFailure, isLook = false }: HubWork,
): Promise<number> => {
  // Loaded here, because schemas and logs cost all other commands a third of their time.
  const { Hub } = await import('../hub/hub.ts')
  const hub = new Hub({ ...settings, bigint: 'exact' })
  const awayBecause = watchRedis(hub.events)
  const interrupt = new AbortController()
  let interruptedBy: StopSignal | undefined
  const endOfSignals = onStopSignals(
    signal => {
      interruptedBy = signal
      interrupt.abort()
    },
    signal => process.exit(signalCodes[signal]),
  )
  try {
    return await work(hub, interrupt.signal)
  } catch (error) {
    const reason = awayBecause()
    onFailure?.(error)
    const told = toldOf(error, settings, reason, isLook)
    const code = report(told, output, { json: flags.json !== undefined, debug: flags.debug !== undefined })
    return interruptedBy === undefined ? code : signalCodes[interruptedBy]
  } finally {
    await hub.close()
    endOfSignals()
  }
}

const toldOf = (error: unknown, { redis }: Readonly<Settings>, away: string | undefined, isLook: boolean): unknown => {
  if (!(error instanceof HubError) || error.code !== 'NotEnqueued') return error
  if (away !== undefined) return new RedisAway(redis, away)
  const { cause } = error
  const isRefusal = isLook && cause instanceof Error && cause.name === 'ReplyError'
  return isRefusal ? new Error(`Redis rejected: ${explained(messageOf(cause))}.`, { cause: error }) : error
}
