import { useState } from 'preact/hooks'
import { isToCome, openingOf } from './model/opening.ts'
import type { View } from './model/view.ts'
import { useActions, useForm } from './shared/context.ts'
import type { FieldProps } from './shared/field-props.ts'

/** Whether a field shows its control, and what gives its value or leaves it out. */
export const useOpening = ({ value, path, required, kept = false }: FieldProps, view: View) => {
  const { set } = useActions()
  // A kind was chosen and its value is still to come.
  const { epoch } = useForm()
  const [openedIn, setOpened] = useState(-1)
  const isAsked = openedIn === epoch
  const put = (next: unknown): void => {
    const comes = isToCome(view, next)
    if (comes) setOpened(epoch)
    set(path, next, kept || comes)
  }
  const leaveOut = (): void => {
    setOpened(-1)
    set(path, undefined, kept)
  }
  return { ...openingOf(view, { value, depth: path.length, required, isAsked }), put, leaveOut }
}
