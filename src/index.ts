export type { Finding } from './bootcheck.ts'
export type { LiveWorker, WorkerCard, WorkerStats } from './catalogue.ts'
export { ConfigError, type ErrorCode, errorTable, HubError, type Problem, TaskError } from './errors.ts'
export type { CallOptions, GatherEntry, Gathered } from './gather.ts'
export { Hub, type HubOptions } from './hub.ts'
export type { FromSchema } from './infer.ts'
export type { Phases } from './message.ts'
export type { Overview, QueueOverview, TaskOverview, WorkerOverview } from './overview.ts'
export type { JsonSchema } from './schema.ts'
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
