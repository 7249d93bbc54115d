import type { ErrorCode, HubErrorDetails } from '../wire/errors.ts'
import type { Asked, StreamPart } from '../wire/stream.ts'

/** Where a message is in its list: with its time and ttl, which make its exact text, and its place there if that is known. */
export interface Placed {
  at: string
  ttlMs: number
  /** How many others were before it. */
  ahead: number | undefined
}

/** A request on its way into a queue's list. */
export interface Parcel {
  readonly id: string
  readonly task: string
  readonly body: string
  /** Arguments that do not travel in it: JSON. */
  readonly argsBeside: string | undefined
  /** Monotonic time of its call's deadline. */
  readonly end: number
  /** True once the call is over: it is not sent any more. */
  readonly settled: boolean
  /** True when its caller gave up: it need not run any more. */
  readonly abandoned: boolean
  /** Undefined until it is known to be in the list, or to have been there. */
  placed: Placed | undefined
  /** True from the moment it is written until Redis answered: it may be running. */
  inDoubt: boolean
  /** Why the last try to push it failed. */
  setback: string | undefined
  /** Runs what tells of it in the context of its caller, if that is known. */
  inside(tell: () => void): void
  /** It will not get there. */
  refused(code: ErrorCode, message: string, details?: HubErrorDetails): void
}

/** Who wants to hear of a call before its reply. */
export interface Listener {
  readonly asked: Asked
  /** Its request has this id now: each try has one of its own. */
  onTry?(id: string): void
  onPart(part: StreamPart): void
}
