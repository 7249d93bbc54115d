import { taskInAddress } from '../../call-contract.ts'
import { inAddress } from './in-address.ts'
import { withQuery } from './query.ts'

/** Path under which the registry is mounted, with a slash at its end; the service writes it into the page. */
export const base = document.querySelector<HTMLMetaElement>('meta[name=pshub-base]')?.content ?? '/'

/** Address of a page or of the API, below the base path. */
export const at = (path: string): string => base + path

/** Address of a task's page. */
export const taskPath = (task: string): string => at(`tasks/${taskInAddress(task)}`)

/** Address of a queue's page. */
export const queuePath = (queue: string): string => at(`queues/${inAddress(queue)}`)

/** Address of a worker's page. */
export const workerPath = (worker: string): string => at(`workers/${inAddress(worker)}`)

/** Address of a job's page; `place`: where it was seen, which one that is not tracked needs. */
export const jobPath = (id: string, place: Readonly<Record<string, string>> = {}): string =>
  at(`jobs/${inAddress(id)}${withQuery({}, place)}`)

/** Address of the page of a key of a task's jobs. */
export const keyPath = (key: { task: string; key: string; queue?: string }): string => at(`key${withQuery({}, key)}`)

/** Address of the list of jobs. */
export const jobsPath = (which: Readonly<Record<string, string>>): string => at(`jobs${withQuery({}, which)}`)

/** Address of the list of failures. */
export const failuresPath = (which: Readonly<Record<string, string>>): string => at(`failures${withQuery({}, which)}`)

/** Address of the list of slow calls. */
export const slowPath = (which: Readonly<Record<string, string>>): string => at(`slow${withQuery({}, which)}`)

/** The page an address is of, without the base path: '' for the overview, `tasks/x` for a task. */
export const placeOf = (path: string): string => `${path}/`.slice(base.length).replace(/\/+$/, '')
