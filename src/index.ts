export type { Finding } from './bootcheck.ts'
export type { FailureOverview, SlowCallOverview } from './calllists.ts'
export type { LiveWorker, WorkerCard, WorkerStats } from './cards.ts'
export { measuringSettings, readSettings, type Settings, type Sources } from './config.ts'
export { ConfigError, type ErrorCode, errorTable, HubError, type Problem, TaskError } from './errors.ts'
export type { UnreadableRecord } from './foreign.ts'
export type { CallOptions, GatherEntry, Gathered, WithPhases } from './gather.ts'
export { Hub, type HubOptions } from './hub.ts'
export type { FromSchema } from './infer.ts'
export type { Load, TaskCaller, Waits } from './load.ts'
export { type Logger, makeLogger } from './logger.ts'
export type { Overview, QueueOverview, TaskOverview, TaskQueue, WorkerOverview } from './overview.ts'
export type { CallPhases, Phases } from './phases.ts'
export { prometheusMetrics, prometheusText } from './prometheus.ts'
export { type JsonSchema, whyUnusable } from './schema.ts'
export {
  defineTask,
  type Handler,
  isTask,
  type Task,
  type TaskCard,
  type TaskContext,
  type TaskLog,
  type TaskOptions,
} from './task.ts'
export type { EventMap, EventName, Events, Listener } from './telemetry.ts'
export { version } from './version.ts'
export { Worker, type WorkerOptions } from './worker.ts'
