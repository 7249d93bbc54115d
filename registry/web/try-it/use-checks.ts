import { useState } from 'preact/hooks'
import type { Problem } from 'pshub'
import { standing, type Verdict } from './arguments/verdict.ts'
import { problemsOf } from './outcome/failure.tsx'
import type { FinishedRun } from './run/finished.ts'

const noFindings = { findings: [], foundIn: undefined }

/** What the form and the worker found wrong, and when the list of it is to take the focus. */
export const useChecks = (value: unknown) => {
  const [{ findings, foundIn }, setFound] = useState<{ findings: readonly Problem[]; foundIn: unknown }>(noFindings)
  const [isRefused, setRefused] = useState(false)
  const [verdict, setVerdict] = useState<Verdict>()
  const [attention, setAttention] = useState(0)
  const demand = () => setAttention(count => count + 1)
  return {
    setFindings: (found: readonly Problem[]) => setFound({ findings: found, foundIn: value }),
    /** The form checks a moment after each key: what it said of values that changed since does not count. */
    isRefusing: () => standing({ args: foundIn, problems: findings }, value).length > 0,
    shownFindings: isRefused ? findings : [],
    verdict: verdict ? standing(verdict, value) : [],
    attention,
    refuse() {
      setRefused(true)
      demand()
    },
    forget() {
      setRefused(false)
      setVerdict(undefined)
    },
    judge(args: unknown, { outcome }: FinishedRun) {
      const problems = outcome.ok || outcome.failure.code !== 'InvalidArgs' ? [] : problemsOf(outcome.failure.data)
      if (problems.length === 0) return
      setVerdict({ args, problems })
      demand()
    },
  }
}
