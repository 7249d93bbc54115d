import type { TaskContext, TaskMiddleware, TaskRun } from '../../task/task.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { ConfigError, PutOff } from '../../wire/errors.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'

/** Which runs are logged. */
export interface TimingLogOptions {
  /** Log only runs that take at least this long, as warnings. Default: every run, as information. */
  overMs?: number
}

const optionNames = namesOf<TimingLogOptions>({ overMs: true })

/**
 * Middleware: logs a line for each run with its phases in milliseconds: `backlogMs` in Redis, `queueMs` in this worker,
 * `execMs` in the inner middleware and the handler.
 *
 * @throws ConfigError
 */
export const timingLog = (options: TimingLogOptions = {}): TaskMiddleware => {
  refuseOptions('timingLog', options, optionNames)
  const { overMs } = options
  if (overMs !== undefined && !(overMs >= 0)) throw new ConfigError("timingLog: 'overMs' must be milliseconds.")
  return next => async (request, ctx) => {
    const started = monotonicMs()
    const tell = (outcome: string) => write(ctx, outcome, monotonicMs() - started, overMs)
    return run(next, request, ctx, tell)
  }
}

const run = async (
  next: TaskRun,
  request: Parameters<TaskRun>[0],
  ctx: TaskContext,
  tell: (outcome: string) => void,
): Promise<unknown> => {
  try {
    const result = await next(request, ctx)
    tell('ok')
    return result
  } catch (thrown) {
    tell(thrown instanceof PutOff ? 'delayed' : 'failed')
    throw thrown
  }
}

const write = (ctx: TaskContext, outcome: string, execMs: number, overMs: number | undefined): void => {
  if (overMs !== undefined && execMs < overMs) return
  const { attempt, isJob, us } = ctx
  const fields = {
    outcome,
    ...(isJob ? { attempt } : {}),
    backlogMs: us.backlog / 1000,
    queueMs: us.queue / 1000,
    execMs: Math.round(execMs * 1000) / 1000,
  }
  if (overMs === undefined) ctx.log.info('ran', fields)
  else ctx.log.warn('slow task', fields)
}
