import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Problem } from 'pshub'
import { Checker, type Verdict } from './check/runner.ts'
import { type Path, toPointer } from './model/json.ts'

interface Options {
  schema: unknown
  value: unknown
  epoch: number
  problems: readonly Problem[]
  onProblems: ((own: Problem[]) => void) | undefined
  showAll: boolean
}

/** Everything the form knows about what is wrong: the checks' verdict, texts that are no values yet, and others' problems. */
export const useChecks = ({ schema, value, epoch, problems, onProblems, showAll }: Options) => {
  const [verdict, setVerdict] = useState<Verdict>({ problems: [], unchecked: undefined })
  const drafts = useCounted<string>()
  const branches = useCounted<number>()
  const touched = useCounted<true>()
  const checker = useRef<Checker | undefined>(undefined)
  useEffect(() => {
    const own = new Checker(schema, setVerdict)
    checker.current = own
    return () => own.close()
  }, [schema])
  useEffect(() => checker.current?.check(value, [...branches.map]), [schema, value, branches.count])
  // Marks of visited fields belong to the value that was there.
  useEffect(() => touched.clear(), [epoch])

  const own = useMemo(() => {
    const typed = [...drafts.map].map(([pointer, message]) => ({ pointer: pointer.replace(/#key$/, ''), message }))
    const pointers = new Set(typed.map(one => one.pointer))
    return [...typed, ...verdict.problems.filter(one => !pointers.has(one.pointer))]
  }, [verdict, drafts.count])
  const told = useRef('[]')
  useEffect(() => {
    const text = JSON.stringify(own)
    if (text === told.current) return
    told.current = text
    onProblems?.(own)
  }, [own])

  const messages = useMemo(() => {
    const found = new Map<string, string[]>()
    const isShown = ({ pointer, message }: Problem) =>
      showAll || touched.map.has(pointer) || !message.startsWith('is required')
    const ofKeys = new Set([...drafts.map.keys()].filter(key => key.endsWith('#key')).map(key => key.slice(0, -4)))
    for (const problem of [...own.filter(isShown), ...problems]) {
      if (ofKeys.has(problem.pointer)) continue
      const list = found.get(problem.pointer) ?? []
      if (!list.includes(problem.message)) found.set(problem.pointer, [...list, problem.message])
    }
    return found
  }, [own, problems, showAll, touched.count])
  const same = useRef({ text: '', messages })
  const text = JSON.stringify([...messages])
  if (text !== same.current.text) same.current = { text, messages }

  return {
    messages: same.current.messages,
    unchecked: verdict.unchecked,
    setDraft: drafts.set,
    setBranch: branches.set,
    touch: (path: Path) => touched.set(toPointer(path), true),
    onFocusOut: (event: { target: unknown }) => {
      const { dataset } = event.target as HTMLElement
      const pointer = dataset.pointer ?? dataset.branch ?? dataset.state ?? dataset.give ?? dataset.node
      if (pointer !== undefined) touched.set(pointer, true)
    },
  }
}

interface Counted<T> {
  map: Map<string, T>
  set(key: string, value: T | undefined): void
  clear(): void
}

/** A map that draws the form again when it changes. Its functions are the same for the life of the form. */
const useCounted = <T>() => {
  const [count, setCount] = useState(0)
  const own = useRef<Counted<T> | undefined>(undefined)
  own.current ??= {
    map: new Map(),
    set(key, value) {
      if (this.map.get(key) === value) return
      if (value === undefined) this.map.delete(key)
      else this.map.set(key, value)
      setCount(now => now + 1)
    },
    clear() {
      if (this.map.size === 0) return
      this.map.clear()
      setCount(now => now + 1)
    },
  }
  const { map, set, clear } = own.current
  return { map, count, set: set.bind(own.current), clear: clear.bind(own.current) }
}
