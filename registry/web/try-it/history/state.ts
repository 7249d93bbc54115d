import { useEffect, useState } from 'preact/hooks'
import { type Judged, withoutSecrets } from '../../../schema/secrets.ts'
import { jsonText } from '../../json/exact.ts'
import { session } from '../../session/access.ts'
import type { FinishedRun } from '../run/finished.ts'
import { addRun, clearRuns, type PastRun, readRuns, type Store } from './store.ts'

/** Runs of one task that this browser keeps. */
export const useHistory = (task: string, judged: Judged) => {
  const namespace = session.value?.namespace ?? ''
  const [runs, setRuns] = useState<readonly PastRun[]>([])
  useEffect(() => setRuns(readRuns(storage(), namespace, task)), [namespace, task])
  const add = (args: unknown, { outcome, atMs, tookMs }: FinishedRun) => {
    // The run ended after the log-out, which clears what is kept.
    if (!session.value) return
    const { value, isWhole } = withoutSecrets(judged, args)
    const text = value === undefined ? undefined : jsonText(value)
    const run = { atMs, tookMs, args: text, isWhole, outcome: outcome.ok ? 'ok' : outcome.failure.code }
    setRuns(addRun(storage(), namespace, task, run))
  }
  const clear = () => {
    clearRuns(storage(), namespace, task)
    setRuns([])
  }
  return { runs, add, clear }
}

/** Some browsers refuse even to be asked. */
const storage = (): Store | undefined => {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
