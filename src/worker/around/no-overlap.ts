import type { Guards, TaskContext, TaskMiddleware, TaskRequest, TaskRun } from '../../task/task.ts'
import { PutOff } from '../../wire/errors.ts'
import { newId } from '../../wire/ids.ts'
import { Lock } from './lock.ts'
import { LockedContext } from './locked-context.ts'
import { asked, checkSharing, checkWhole, type Sharing, sharedName } from './shared-name.ts'

/** What must not run side by side, and for how long a lock outlives its worker. */
export interface NoOverlapOptions extends Sharing {
  /** For so long a worker that died keeps others waiting; a live one renews it. 1000 to 3600000; default 10000. */
  leaseMs?: number
}

/**
 * One run at a time, across all workers: of a task, or of those requests of it with the same key. A job that finds another one running
 * goes back to wait, for about as long as that one has run by then (100 ms to 5 s), and that counts as no try. A call fails at once as
 * `Overloaded`, with `data.retryAfterMs`: in a slot it would keep others waiting.
 *
 * The lock is renewed while the handler runs. Where that fails for as long as the lease, or another one took it, `ctx.signal` fires.
 * `ctx.fence` grows from run to run: storage that refuses a lower one than it saw last is safe from who does not notice that.
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
