/**
 * GET api/search?text=: what has this in its name or id, the best first: six of each kind at most. Of keys those of which something waits or
 * runs, by their text or its beginning; jobs by their whole id; calls by the beginning of the id of their request.
 */
export interface SearchAnswer {
  tasks: { task: string; queue: string }[]
  queues: string[]
  workers: { id: string; queue: string; host: string; pid: number; live: boolean }[]
  jobs: { id: string; queue: string; task: string; state: string }[]
  keys: { queue: string; task: string; key: string }[]
  /** Calls that failed, were rejected or took long, as workers and hubs tell. */
  calls: { id: string; task: string; kind: 'failure' | 'unanswered' | 'slow'; code: string | undefined }[]
  /** Not all jobs and keys were looked at. */
  isCut: boolean
}
