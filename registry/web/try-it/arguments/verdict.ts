import type { Problem } from 'pshub'
import { parsePointer, partAt } from '../../../../src/schema-diff/pointer.ts'
import { jsonText } from '../../json/exact.ts'

/** What a run said about its arguments. */
export interface Verdict {
  args: unknown
  problems: readonly Problem[]
}

/** The problems of a verdict whose values have not been touched since. */
export const standing = ({ args, problems }: Verdict, now: unknown): readonly Problem[] =>
  problems.filter(({ pointer }) => isSame(valueAt(args, pointer), valueAt(now, pointer)))

const valueAt = (value: unknown, pointer: string): unknown => parsePointer(pointer).reduce(partAt, value)

const isSame = (a: unknown, b: unknown): boolean => a === b || jsonText(a) === jsonText(b)
