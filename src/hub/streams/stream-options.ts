import { type HubError, shown } from '../../wire/errors.ts'
import { namesOf, wrongOptions } from '../../wire/options.ts'
import { type CallOptions, callOptionNames, refusal, wrongCall } from '../call-options.ts'

/** Options of a stream. */
export interface StreamOptions extends Omit<CallOptions, 'phases'> {
  /** Maximum wait for the next chunk or progress report. Default: until `timeoutMs`. */
  idleMs?: number
}

const streamOptionNames = new Set([...callOptionNames, ...namesOf<Pick<StreamOptions, 'idleMs'>>({ idleMs: true })])
streamOptionNames.delete('phases')

/** What makes a stream impossible before anything is looked up; undefined when nothing does. */
export const wrongStream = (called: string, options: StreamOptions): HubError | undefined => {
  const wrong = wrongOptions(options, streamOptionNames)
  if (wrong !== undefined) return refusal(called, 'InvalidArgs', `stream ${called}: ${wrong}`)
  const { idleMs, ...callOptions } = options
  if (idleMs !== undefined && !(typeof idleMs === 'number' && idleMs > 0))
    return refusal(
      called,
      'InvalidArgs',
      `stream ${called}: idleMs must be a number of milliseconds, not ${shown(idleMs)}.`,
    )
  return wrongCall(called, callOptions)
}
