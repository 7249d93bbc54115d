import { useState } from 'preact/hooks'
import { own } from './model/json.ts'
import type { View } from './model/view.ts'
import { useActions, useForm } from './shared/context.ts'
import type { FieldProps } from './shared/field-props.ts'

/** Required parts within required parts are opened without being asked down to here. */
const maxOpened = 8

/** Whether a field shows its control, and what gives its value or leaves it out. A group that may be absent opens when asked to. */
export const useOpening = ({ value, path, required, kept = false }: FieldProps, view: View, isGroup: boolean) => {
  const { set } = useActions()
  const isSealed = own(view.flat.keywords, 'readOnly') === true && !required && value === undefined
  // A kind was chosen and its value is still to come.
  const { epoch } = useForm()
  const [openedIn, setOpened] = useState(-1)
  const isAsked = openedIn === epoch
  const isClosed = isSealed || (isGroup && value === undefined && !isAsked && (!required || path.length > maxOpened))
  const put = (next: unknown): void => {
    const isToCome = next === undefined && (view.kind === 'choice' || view.kind === 'any')
    if (isToCome) setOpened(epoch)
    set(path, next, kept || isToCome)
  }
  const leaveOut = (): void => {
    setOpened(-1)
    set(path, undefined, kept)
  }
  return { isSealed, isClosed, isOpened: isAsked || (isGroup && !isClosed), put, leaveOut }
}
