/** Something that happened, as a line across a chart. */
export interface ChartMark {
  atMs: number
  text: string
}

/** Marks that are closer are one line. */
const lineGap = 6
/** A label is as wide as its text, about so much for each character, unless there is less room; none for less than this. */
const characterWidth = 6.2
const narrowest = 46

export interface Line {
  x: number
  text: string
}

export const linesOf = (marks: readonly ChartMark[], xOf: (atMs: number) => number): Line[] => {
  const lines: Line[] = []
  for (const { atMs, text } of marks) {
    const x = xOf(atMs)
    const last = lines.at(-1)
    if (last && x - last.x < lineGap) last.text += `, ${text}`
    else if (x >= 0) lines.push({ x, text })
  }
  return lines
}

export interface Placed {
  isAtLeft: boolean
  room: number
}

/** On which side of its line each label is, and how wide it may be, so that none covers another one, a line or an axis. */
export const placedLabels = (lines: readonly Line[], width: number): (Placed | undefined)[] => {
  // Where the last line or label ends.
  let edge = 0
  return lines.map(({ x, text }, at) => {
    const wanted = text.length * characterWidth
    const right = (lines[at + 1]?.x ?? width) - x
    const left = x - edge
    edge = x
    if (right < wanted && left > right && left >= narrowest) return { isAtLeft: true, room: left }
    if (right < narrowest) return undefined
    edge = x + Math.min(right, wanted)
    return { isAtLeft: false, room: right }
  })
}
