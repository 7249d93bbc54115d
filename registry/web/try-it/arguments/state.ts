import { useEffect, useState } from 'preact/hooks'
import type { TaskDetail } from '../../../contract.ts'
import { own } from '../../../schema/steps.ts'
import { initialValue } from '../../form/index.tsx'
import { parseJson, type TextProblem, textOf } from '../../json/parse.ts'
import { useDraft } from './draft.ts'
import { argsFromFragment } from './share-link.ts'

/** The arguments as the form and the JSON tab share them: whichever was touched last is what counts. */
export interface Arguments {
  /** Undefined: absent. While the text is no JSON, what it was before. */
  value: unknown
  text: string
  /** What is wrong with the text; undefined when it stands for `value`. */
  textProblem: TextProblem | undefined
  setValue(value: unknown): void
  setText(text: string): void
}

interface State {
  value: unknown
  text: string
  textProblem: TextProblem | undefined
}

const ofValue = (value: unknown): State => ({ value, text: textOf(value), textProblem: undefined })

const ofText = (text: string, before: State): State => {
  const parsed = parseJson(text)
  return parsed.ok
    ? { value: parsed.value, text, textProblem: undefined }
    : { value: before.value, text, textProblem: parsed }
}

/** What the form begins with: what the schema prescribes, else what tasks take that need nothing. */
export const startOf = ({ args, unusable }: TaskDetail): unknown =>
  (unusable === undefined ? initialValue(args ?? true) : undefined) ?? (takesObject(args) ? {} : undefined)

const takesObject = (schema: unknown): boolean => {
  const types = [own(schema, 'type')].flat()
  return types[0] === undefined || types.includes('object')
}

export const useArguments = (detail: TaskDetail, tell: (message: string) => void): Arguments => {
  const [start] = useState(() => startOf(detail))
  const { draft, keep } = useDraft(detail.row.task, detail, start)
  const [state, setState] = useState<State>(() => ofValue(draft ? draft.value : start))
  const setText = (text: string) => setState(before => ofText(text, before))
  useEffect(() => {
    if (state.value !== (draft ? draft.value : start)) keep(state.value)
  }, [state.value])
  useEffect(() => {
    let isOver = false
    const load = async () => {
      try {
        const text = await argsFromFragment(location.hash)
        if (text === undefined || isOver) return
        const parsed = parseJson(text)
        setState(before => (parsed.ok ? ofValue(parsed.value) : ofText(text, before)))
        tell('The arguments from the address are filled in.')
      } catch (error) {
        if (!isOver) tell((error as Error).message)
      }
    }
    if (draft) tell(`Your last arguments are filled in${draft.isWhole ? '' : ', without their secret fields'}.`)
    else void load()
    addEventListener('hashchange', load)
    return () => {
      isOver = true
      removeEventListener('hashchange', load)
    }
  }, [])
  return { ...state, setText, setValue: value => setState(ofValue(value)) }
}
