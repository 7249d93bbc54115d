import type { ComponentType } from 'preact'
import type { Path } from '../model/json.ts'
import type { View } from '../model/view.ts'
import type { FieldProps } from './field-props.ts'

/** What Field hands to the control inside it. */
export interface ControlProps {
  readonly view: View
  readonly value: unknown
  readonly path: Path
  readonly pointer: string
  /** Name of the field for people, for labels of what belongs to it. */
  readonly label: string
  /** Attributes of the element that takes the value. */
  readonly attributes: {
    readonly id: string
    readonly 'data-pointer': string
    readonly 'aria-labelledby': string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': 'true' | undefined
    readonly 'aria-required': 'true' | undefined
  }
  /** Sets the value; undefined: none. */
  put(value: unknown): void
  /** Draws a part inside the value. Handed in, because a field has a control, which has fields: neither could import both. */
  readonly Field: ComponentType<FieldProps>
}
