import { useState } from 'preact/hooks'
import { ownNumber } from '../model/json.ts'
import type { ControlProps } from '../shared/control-props.ts'

/** Larger files are not read: what a call carries is limited anyway. */
const maxBytes = 8 * 1_048_576

/** A file, given as base64. */
export const FileInput = ({ view, value, attributes, put }: ControlProps) => {
  const [note, setNote] = useState('')
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return
    const longest = ownNumber(view.flat.keywords, 'maxLength') ?? Number.POSITIVE_INFINITY
    const limit = Math.min(maxBytes, Math.floor(longest / 4) * 3)
    if (file.size > limit) setNote(`${file.name} has ${sized(file.size)}; at most ${sized(limit)} can be sent.`)
    else {
      put(base64(new Uint8Array(await file.arrayBuffer())))
      setNote(file.name)
    }
  }
  return (
    <span class="file">
      <input type="file" {...attributes} onChange={event => void read(event.currentTarget.files?.[0])} />
      <span class="quiet" role="status">
        {[note, typeof value === 'string' ? sized(bytesOf(value)) : ''].filter(Boolean).join(', ')}
      </span>
    </span>
  )
}

const base64 = (bytes: Uint8Array): string => {
  const parts: string[] = []
  // Fewer than the arguments that a function call may have; a multiple of three, so that the parts join without padding.
  for (let i = 0; i < bytes.length; i += 24_573) parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + 24_573))))
  return parts.join('')
}

const bytesOf = (text: string): number => Math.floor((text.replace(/[=\s]/g, '').length * 3) / 4)

const sized = (bytes: number): string =>
  bytes < 1_024
    ? `${bytes} bytes`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toFixed(1)} kB`
      : `${(bytes / 1_048_576).toFixed(1)} MB`
