import { createHash } from 'node:crypto'

/**
 * Models are given no name with more than 64 characters, and none with other characters than letters, digits, _ and -. Their programs put up to
 * 24 in front, to tell servers apart: `mcp__`, the name of the server in their settings, `__`.
 */
const maxLength = 40
/** Where `/` as `--` could be read in two ways, or a `.` has no way to be written. */
const tangled = /\.|--|-\/|\/-/

/**
 * The name of a task's tool: `mail/send:1.0` is `mail--send_1_0`. Another name than that of any other task, and always the same one, whatever other
 * tasks there are. Names that cannot be written so, or are too long, get a part of their hash at the end, where a readable one has its version.
 *
 * @param task `name:major.minor`
 */
export const toolNameOf = (task: string): string => {
  const at = task.lastIndexOf(':')
  const name = task.slice(0, at)
  const version = `_${task.slice(at + 1).replace('.', '_')}`
  const readable = name.replaceAll('/', '--') + version
  if (!tangled.test(name) && readable.length <= maxLength) return readable
  const end = `${version}-${createHash('sha256').update(task).digest('hex').slice(0, 16)}`
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, maxLength - end.length) + end
}
