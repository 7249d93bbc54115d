import type { ComponentChildren } from 'preact'
import type { Path } from '../model/json.ts'

/** What draws a part of the value hands to the field of that part. */
export interface FieldProps {
  schema: unknown
  value: unknown
  path: Path
  /** Name for people; also read out for what belongs to the field. */
  label: string
  required: boolean
  /** Its place stays when there is no value: an item of a list, an entry of a map, the whole. */
  kept?: boolean
  /** Shown in place of the label. */
  heading?: ComponentChildren
  /** Buttons at the end of its line. */
  tools?: ComponentChildren
}
