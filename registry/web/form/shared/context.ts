import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refs } from '../../../schema/refs.ts'
import type { Folds } from '../model/folds.ts'
import type { Path } from '../model/json.ts'

/** What every field of one form needs. The same object for the life of the form. */
export interface FormActions {
  readonly refs: Refs
  /** Prefix of element ids, so that two forms on a page do not meet. */
  readonly id: string
  /** Replaces the part at `path`; undefined leaves it out, or with `keep` leaves its place for a value still to come. */
  set(path: Path, value: unknown, keep?: boolean): void
  /** Notes what is wrong with a text that is not a value yet; undefined: nothing any more. */
  setDraft(pointer: string, message: string | undefined): void
  /** Notes which branch is shown at `pointer`; undefined: the choice is gone. */
  setBranch(pointer: string, branch: number | undefined): void
  /** After the next drawing, puts the focus on the first element of this form that a selector finds. */
  focusNext(selector: string): void
}

/** What changes from drawing to drawing. */
export interface FormState {
  /** Messages by pointer. Those of fields that were never visited and are merely missing are left out. */
  readonly messages: ReadonlyMap<string, readonly string[]>
  /** Counts values that came from outside; branches and texts in progress are chosen anew then. */
  readonly epoch: number
  readonly folds: Folds
  /** The place that somebody is led to, whatever it is folded into; `count` tells one wish from the next. */
  readonly revealed: { readonly pointer: string; readonly count: number }
}

const open: Folds = { startsFolded: () => false, shownOf: () => undefined }

export const ActionsContext = createContext<FormActions | undefined>(undefined)
export const StateContext = createContext<FormState>({
  messages: new Map(),
  epoch: 0,
  folds: open,
  revealed: { pointer: '', count: 0 },
})

export const useActions = (): FormActions => useContext(ActionsContext)!
export const useForm = (): FormState => useContext(StateContext)

const none: readonly string[] = []
export const useMessages = (pointer: string): readonly string[] => useForm().messages.get(pointer) ?? none

/** Whether a place lies inside the group at another one. */
export const isWithin = (pointer: string, group: string): boolean => pointer.startsWith(`${group}/`)
