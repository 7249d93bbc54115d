import { useEffect, useRef, useState } from 'preact/hooks'
import type { Progress } from 'pshub'
import type { StreamedPart } from '../../../call-contract.ts'
import type { CallChoices } from './call-choices.ts'
import type { FinishedRun } from './finished.ts'
import { runTask } from './gateway.ts'

export interface Run {
  /** When the run that is waited for was started, on performance.now's clock; undefined while none is. */
  startedMs: number | undefined
  last: FinishedRun | undefined
  /** The last successful one before it. */
  previous: FinishedRun | undefined
  /** What came of the run that is waited for, or of the last one, before its end. */
  heard: Heard
  start(args: unknown, choices: CallChoices): Promise<FinishedRun | undefined>
  cancel(): void
}

/** What came before the end of a run. */
export interface Heard {
  /** The last of them. */
  chunks: readonly unknown[]
  count: number
  progress: Progress | undefined
}

const nothing: Heard = { chunks: [], count: 0, progress: undefined }
/** More than these nobody looks at. */
const mostChunks = 500

const withPart = (heard: Heard, part: StreamedPart): Heard => {
  if ('progress' in part) return { ...heard, progress: part.progress }
  if (!('chunk' in part)) return heard
  return { ...heard, chunks: [...heard.chunks, part.chunk].slice(-mostChunks), count: heard.count + 1 }
}

/** One run at a time of one task; leaving the page gives up waiting. */
export const useRun = (task: string): Run => {
  const [startedMs, setStartedMs] = useState<number>()
  const [runs, setRuns] = useState<{ last?: FinishedRun; previous?: FinishedRun }>({})
  const [heard, setHeard] = useState(nothing)
  const abort = useRef<AbortController>(undefined)
  const cancel = () => abort.current?.abort()
  useEffect(() => cancel, [])
  const start = async (args: unknown, choices: CallChoices) => {
    if (abort.current) return undefined
    const own = new AbortController()
    abort.current = own
    setStartedMs(performance.now())
    setHeard(nothing)
    const finished = await runTask(task, args, choices, own.signal, part => setHeard(all => withPart(all, part)))
    abort.current = undefined
    setStartedMs(undefined)
    setRuns(({ last, previous }) => {
      const before = last?.outcome.ok ? last : previous
      return { last: finished, ...(before && { previous: before }) }
    })
    return finished
  }
  return { startedMs, last: runs.last, previous: runs.previous, heard, start, cancel }
}
