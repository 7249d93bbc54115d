import { useEffect, useRef, useState } from 'preact/hooks'
import type { CallChoices } from './call-choices.ts'
import type { FinishedRun } from './finished.ts'
import { runTask } from './gateway.ts'

export interface Run {
  /** When the run that is waited for was started, on performance.now's clock; undefined while none is. */
  startedMs: number | undefined
  last: FinishedRun | undefined
  /** The last successful one before it. */
  previous: FinishedRun | undefined
  start(args: unknown, choices: CallChoices): Promise<FinishedRun | undefined>
  cancel(): void
}

/** One run at a time of one task; leaving the page gives up waiting. */
export const useRun = (task: string): Run => {
  const [startedMs, setStartedMs] = useState<number>()
  const [runs, setRuns] = useState<{ last?: FinishedRun; previous?: FinishedRun }>({})
  const abort = useRef<AbortController>(undefined)
  const cancel = () => abort.current?.abort()
  useEffect(() => cancel, [])
  const start = async (args: unknown, choices: CallChoices) => {
    if (abort.current) return undefined
    const own = new AbortController()
    abort.current = own
    setStartedMs(performance.now())
    const finished = await runTask(task, args, choices, own.signal)
    abort.current = undefined
    setStartedMs(undefined)
    setRuns(({ last, previous }) => {
      const before = last?.outcome.ok ? last : previous
      return { last: finished, ...(before && { previous: before }) }
    })
    return finished
  }
  return { startedMs, last: runs.last, previous: runs.previous, start, cancel }
}
