import type { Guards, TaskContext, TaskMiddleware, TaskRequest, TaskRun } from '../../task/task.ts'
import { PutOff } from '../../wire/errors.ts'
import { newId } from '../../wire/ids.ts'
import { Lock } from './lock.ts'
import { LockedContext } from './locked-context.ts'
import { asked, checkSharing, checkWhole, type Sharing, sharedName } from './shared-name.ts'

/** Which requests must not overlap, and how long a lock outlives its worker. */
export interface NoOverlapOptions extends Sharing {
  /** How long the lock of a crashed worker blocks others; a live worker renews it. 1000 to 3600000; default 10000. */
  leaseMs?: number
}

/**
 * Middleware: allows one run at a time across all workers, of a task or of requests with the same key. A job that finds
 * another run waits for about as long as that run has taken so far (100 ms to 5 s), which does not count as a try. A
 * call fails at once as `Overloaded`, with `data.retryAfterMs`, because waiting would occupy a slot. The lock is
 * renewed while the handler runs; if that fails for the length of the lease, or another run takes the lock,
 * `ctx.signal` is aborted. `ctx.fence` grows with each run: let your storage reject a lower token.
 *
 * @throws ConfigError
 */
export const noOverlap = (options: NoOverlapOptions = {}): TaskMiddleware => {
  checkSharing('noOverlap', options, ['leaseMs'])
  const { leaseMs = 10_000 } = options
  checkWhole('noOverlap', 'leaseMs', leaseMs, 1000, 3_600_000)
  return (next, guards) => (request, ctx) => {
    const name = sharedName(options, request)
    return name === undefined ? next(request, ctx) : runAlone(next, guards, { name, leaseMs, request, ctx })
  }
}

interface Run {
  name: string
  leaseMs: number
  request: TaskRequest
  ctx: TaskContext
}

const runAlone = async (next: TaskRun, guards: Guards, { name, leaseMs, request, ctx }: Run): Promise<unknown> => {
  const lock = new Lock(guards, name, newId(), leaseMs)
  const waitMs = await asked(lock.take())
  if (waitMs > 0) throw new PutOff(waitMs, `Another run of ${name} holds the lock.`)
  const locked = new LockedContext(ctx, lock)
  try {
    // It was given up meanwhile: whatever ran now was told of that before it could listen, and might keep the lock for ever.
    ctx.signal.throwIfAborted()
    return await next(request, locked)
  } finally {
    locked.end()
    lock.free()
  }
}
