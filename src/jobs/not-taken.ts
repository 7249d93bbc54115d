import { ConfigError, shown, TaskError } from '../wire/errors.ts'
import { longestWaitMs } from '../wire/job-part.ts'

/** What a forwarder's job fails with: the target did not accept it. */
export class NotTaken extends TaskError {
  /** It would tell each log where it was noticed here, and nothing of the other side. */
  override readonly stack = ''
  /** It is not tried again any sooner. */
  readonly retryAfterMs: number

  /**
   * @param isFinal trying again would be of no use
   * @throws ConfigError for a status or a wait that is none
   */
  constructor(reason: string, { isFinal = false, retryAfterMs = 0, status = undefined as number | undefined } = {}) {
    super(reason, isFinal ? { code: 'Refused', status, retryable: false } : { code: 'NotTaken', status })
    if (!(typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs <= longestWaitMs))
      throw new ConfigError(`retryAfterMs must be milliseconds, 0 to ten years, not ${shown(retryAfterMs)}.`)
    this.retryAfterMs = retryAfterMs
  }
}
