export type { FailureOverview, SlowCallOverview } from './catalogue/call-lists.ts'
export type { LiveWorker, WorkerCard, WorkerCounters, WorkerStats } from './catalogue/cards.ts'
export { makePauses } from './catalogue/in-pieces.ts'
export type { KeptTemplates, Template } from './catalogue/kept-templates.ts'
export type { CallPlace } from './catalogue/looks/call-place.ts'
export type { Overview, QueueOverview, TaskOverview, TaskQueue, WorkerOverview } from './catalogue/overview.ts'
export type { RedisMemory } from './catalogue/redis-memory.ts'
export type { UnansweredOverview } from './catalogue/unanswered.ts'
export type { WorkerTask } from './catalogue/worker-tasks.ts'
export type { EventMap, EventName, Events, Listener } from './figures/events.ts'
export type { JobFigures } from './figures/job-figures.ts'
export type { Load, TaskCaller, Waits } from './figures/load.ts'
export type { LoopMs } from './figures/loop-delay.ts'
export type { Counts as CallCounts } from './figures/task-stats.ts'
export type { BlockedLook, RunLook, WorkerLook } from './figures/worker-look.ts'
export { Forwarder, type ForwarderOptions } from './forward/forwarder.ts'
export type { ForwardedJob, ForwardFormat, ForwardOutcome, ForwardTarget, NotForwarded } from './forward/target.ts'
export { type AmqpOptions, amqp } from './forward/targets/amqp.ts'
export { type HubTargetOptions, otherHub } from './forward/targets/hub.ts'
export { type RedisListOptions, redisList } from './forward/targets/redis-list.ts'
export { type RedisStreamOptions, redisStream } from './forward/targets/redis-stream.ts'
export { type WebhookOptions, webhook } from './forward/targets/webhook.ts'
export type { CallOptions, HubOptions, WithPhases } from './hub/call-options.ts'
export type { GatherEntry, Gathered } from './hub/gather.ts'
export { Hub } from './hub/hub.ts'
export type { EnqueueMiddleware, EnqueueRequest } from './hub/job-hub.ts'
export type { HubStream } from './hub/streams/hub-stream.ts'
export type { StreamOptions } from './hub/streams/stream-options.ts'
export type { Batch, BatchParts, BatchStatus } from './jobs/batch.ts'
export type { BulkAction, BulkQuery, BulkStep } from './jobs/bulk.ts'
export type { ScheduleTimes } from './jobs/cron.ts'
export type { DeadFilter, DeadJob, DeadJobs, RetryOptions } from './jobs/dead.ts'
export type { EnqueueOptions, ScheduleOptions, UniqueOptions } from './jobs/enqueue-options.ts'
export type { BatchOptions, ChainEntry, EnqueuedMany, EnqueueEntry, EnqueueManyOptions } from './jobs/entries.ts'
export type { Chain, Job, ResultOptions, StepStatus, UntrackedJob } from './jobs/job.ts'
export type { BatchDetails, ChainDetails, JobDetails, JobPlace } from './jobs/job-details.ts'
export type { JobKey, KeyState, KeyStatus, SkipOptions } from './jobs/job-key.ts'
export type { JobState, JobStatus } from './jobs/job-record.ts'
export type { JobLook, LyingState } from './jobs/lists/job-search.ts'
export type { FoundKey, FoundKeys } from './jobs/lists/key-search.ts'
export type { JobCounts, JobsListing, JobsQuery, ListedState, QueuedJob, QueuedState } from './jobs/lists/listing.ts'
export type { Schedule, Schedules } from './jobs/schedules.ts'
export { type Logger, type LogOptions, makeLogger } from './outlets/log.ts'
export { MetricTotals } from './outlets/metric-totals.ts'
export { prometheusMetrics, prometheusText } from './outlets/prometheus.ts'
export type { Finding } from './redis/boot-check.ts'
export type { RedisTarget, RedisTargetOptions } from './redis/target.ts'
export type { AccessRules, TaskRule } from './settings/access-rules.ts'
export { type Environment, parseEnvironment } from './settings/environment.ts'
export { measuringSettings, readSettings, type Settings, type Sources } from './settings/read.ts'
export type { TaskCard } from './task/card.ts'
export type { FromSchema, Received } from './task/infer.ts'
export { movedSchema } from './task/local-references.ts'
export type { ByKey, MergedOptions } from './task/merged.ts'
export { type JsonSchema, whyUnusable } from './task/schema.ts'
export type { StandardSchema } from './task/standard.ts'
export {
  type AnyTasks,
  type ArgsOf,
  type Called,
  type ChunkOf,
  type Contract,
  type Declaration,
  defineTask,
  type Guards,
  type Handler,
  isContract,
  isTask,
  type MergedContract,
  type MergedHandler,
  type NestedOptions,
  type ResultOf,
  type Serving,
  type Task,
  type TaskBackoff,
  type TaskContext,
  type TaskLog,
  type TaskMiddleware,
  type TaskOptions,
  type TaskRequest,
  type TaskRun,
} from './task/task.ts'
export type { KeyFigures, QueueFigures } from './wire/answers.ts'
export {
  type CallOutcome,
  ConfigError,
  type ErrorCode,
  errorTable,
  HubError,
  type HubErrorDetails,
  type OwnCode,
  type Problem,
  PutOff,
  TaskError,
  type TaskErrorOptions,
} from './wire/errors.ts'
export type { UnreadableRecord } from './wire/foreign.ts'
export type { Backoff, JobFailure, Keyed } from './wire/job-part.ts'
export {
  ExactNumber,
  parseExact,
  type Replacer,
  stringifyExact,
  toMarks,
  withoutMarks,
} from './wire/json/exact-json.ts'
export type { Bigints } from './wire/json/numbers.ts'
export type { TaskName } from './wire/names.ts'
export type { CallPhases, Phases } from './wire/phases.ts'
export type { Progress } from './wire/stream.ts'
export { version } from './wire/version.ts'
export { type NoOverlapOptions, noOverlap } from './worker/around/no-overlap.ts'
export { type RateLimitOptions, rateLimit } from './worker/around/rate-limit.ts'
export { type TimingLogOptions, timingLog } from './worker/around/timing-log.ts'
export { StartFailed, type WorkerHooks } from './worker/hooks.ts'
export { Worker, type WorkerOptions } from './worker/worker.ts'
