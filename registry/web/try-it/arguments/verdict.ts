import type { Problem } from 'pshub'

/** What a run said about its arguments. */
export interface Verdict {
  args: unknown
  problems: readonly Problem[]
}

/** The problems of a verdict whose values have not been touched since. */
export const standing = ({ args, problems }: Verdict, now: unknown): readonly Problem[] =>
  problems.filter(({ pointer }) => isSame(valueAt(args, pointer), valueAt(now, pointer)))

const valueAt = (value: unknown, pointer: string): unknown => {
  let found = value
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)
