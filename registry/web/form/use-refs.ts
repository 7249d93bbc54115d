import { useEffect, useMemo, useState } from 'preact/hooks'
import { makeRefs, type Refs } from '../../schema/refs.ts'
import { PatternJudge } from './check/pattern-judge.ts'

/** What a schema refers to. Another object when it became known which texts match its patterns: the form is drawn anew then. */
export const useRefs = (schema: unknown): Refs => {
  const [answers, setAnswers] = useState(0)
  const judge = useMemo(() => new PatternJudge(() => setAnswers(count => count + 1)), [schema])
  useEffect(() => () => judge.close(), [judge])
  return useMemo(() => makeRefs(schema, judge.matches), [schema, judge, answers])
}
