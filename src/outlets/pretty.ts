import type { Paint } from './colour.ts'
import { printable } from './printable.ts'

const levels: Record<number, [name: string, format: Parameters<Paint>[0]]> = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'blue'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', ['bgRed', 'white']],
}

/** The process is that of the terminal. */
const unshown = new Set(['level', 'time', 'msg', 'pid'])

/**
 * A line of the log for people: time of day, level, message, and the other fields behind it as `name=value`. Stacks follow on lines
 * of their own, indented, without pshub's frames. Whatever is in it, a terminal shows it and obeys none of it.
 *
 * @param line an object as JSON; what is none is given back
 */
export const prettyLine = (line: string, paint: Paint): string => {
  let record: Record<string, unknown>
  try {
    record = JSON.parse(line)
  } catch {
    return line
  }
  if (typeof record !== 'object' || record === null) return line
  const { level, time, msg } = record
  const [name, format] = levels[level as number] ?? [String(level), 'reset']
  const [fields, stacks] = [[] as string[], [] as string[]]
  for (const [key, value] of Object.entries(record)) {
    if (unshown.has(key)) continue
    const stack = stackOf(key, value)
    if (stack !== undefined) stacks.push(...stack.map(frame => `\n    ${paint('dim', printable(frame))}`))
    const rest = stack === undefined ? value : restOf(value)
    if (rest !== undefined) fields.push(` ${paint('dim', `${printable(key)}=`)}${shown(rest)}`)
  }
  const message = msg === undefined ? '' : ` ${paint('cyan', printable(msg))}`
  return `[${timeOfDay(time)}] ${paint(format, name)}:${message}${fields.join('')}${stacks.join('')}\n`
}

/** Of a field that is one, or of an error; as text or as a list of frames. */
const stackOf = (key: string, value: unknown): string[] | undefined => {
  const stack = key === 'stack' ? value : (value as { stack?: unknown } | null)?.stack
  if (typeof stack === 'string') return withoutOurFrames(stack.split('\n'))
  return Array.isArray(stack) ? stack.map(String) : undefined
}

/** Frames of the installed package, and the one that Node puts below each await. */
const ourFrame = /^\s+at .*([\\/]node_modules[\\/]pshub(-registry)?[\\/]dist[\\/]|\bprocessTicksAndRejections\b)/

/** Where a handler failed is in its author's files. An error with no frame of theirs keeps all of its own. */
const withoutOurFrames = (lines: string[]): string[] => {
  const theirs = lines.filter(line => !ourFrame.test(line))
  return theirs.some(line => /^\s+at /.test(line)) ? theirs : lines
}

const restOf = (value: unknown): object | undefined => {
  if (typeof value !== 'object' || Array.isArray(value)) return undefined
  const { stack: _, ...rest } = value as { stack: unknown }
  return rest
}

/** Plain words are plain; everything else is JSON, so that one sees where a value ends. */
const shown = (value: unknown): string => printable(isWord(value) ? value : JSON.stringify(value))

const isWord = (value: unknown): boolean => typeof value === 'string' && /^[^\s"'=,{}[\]\\]+$/.test(value)

const timeOfDay = (time: unknown): string => {
  const date = new Date(time as number)
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(part =>
    String(part).padStart(2, '0'),
  )
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
